package connect

import (
	"reflect"
	"testing"

	"oarlock/internal/config"
)

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
