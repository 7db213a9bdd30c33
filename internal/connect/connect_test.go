package connect

import (
	"reflect"
	"testing"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/embedded"
	"oarlock/internal/must"
)

// TestTheEmbeddedRedisHereIsNeverLate opens the embedded Redis of this process, to which a call may take as long as it needs; once it is
// gone, what is at its address is a Redis like any other.
func TestTheEmbeddedRedisHereIsNeverLate(t *testing.T) {
	server := must.Get(embedded.Start(""))(t)
	t.Cleanup(server.Close)
	url := server.URL()
	if got := options(config.Redis{URL: url}).ReadTimeout; got < time.Minute {
		t.Errorf("a call may take %v", got)
	}
	server.Close()
	if got := options(config.Redis{URL: url}).ReadTimeout; got != 0 {
		t.Errorf("a call to somebody else may take %v", got)
	}
}

// Whatever the table redis says reaches the client: a key with another value makes another one.
func TestNoFieldOfRedisIsForgotten(t *testing.T) {
	r := config.Defaults().Redis
	usual := options(r)
	table := reflect.ValueOf(&r).Elem()
	for i := range table.NumField() {
		field, key := table.Field(i), table.Type().Field(i).Tag.Get("toml")
		before := reflect.ValueOf(field.Interface())
		switch field.Interface().(type) {
		case string:
			field.SetString(field.String() + "other")
		case int:
			field.SetInt(field.Int() + 1)
		default:
			t.Fatalf("%s is a %s: give it another value", key, field.Type())
		}
		if reflect.DeepEqual(options(r), usual) {
			t.Errorf("no client hears of redis.%s = %v", key, field)
		}
		field.Set(before)
	}
}
