package plan

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/config"
)

// The runner knows every word that a configuration may have.
func TestTheWordsOfAConfigurationMeanSomething(t *testing.T) {
	for _, tt := range []struct {
		words []string
		known []string
	}{
		{config.Modes, slices.Sorted(maps.Keys(modes))},
		{config.Inputs, slices.Sorted(maps.Keys(inputs))},
		{config.Statuses, slices.Sorted(maps.Keys(statuses))},
		{config.Kills, slices.Sorted(maps.Keys(kills))},
	} {
		if words := slices.Sorted(slices.Values(tt.words)); !slices.Equal(words, tt.known) {
			t.Errorf("a configuration may say %q, and known are %q", words, tt.known)
		}
	}
}

// Whatever a pool says reaches the supervisor: a field with another value makes another pool of it.
func TestNoFieldOfAPoolIsForgotten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("FROM_FILE=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	others := map[string]any{ // where not any other value will do
		"order": "oldest", "mode": "reuse", "input": "data", "status": "exit", "replace": "after", "drain_signal": "USR1", "on_error": "fail", "on_crash": "fail",
		"exit_codes": map[string]string{"3": "fail"}, "retry.backoff": config.Backoff{Curve: "linear"}, "sandbox.umask": "027", "sandbox.env_file": file, "sandbox.kill": "group",
	}
	usual := config.DefaultPool()
	usual.Command = []string{"true"}
	was, err := Pool("p", usual)
	if err != nil {
		t.Fatal(err)
	}
	var fields func(at string, v reflect.Value, pool *config.Pool)
	fields = func(at string, v reflect.Value, pool *config.Pool) {
		for i := range v.NumField() {
			field, key := v.Field(i), strings.TrimPrefix(at+"."+v.Type().Field(i).Tag.Get("toml"), ".")
			other, named := others[key]
			if field.Kind() == reflect.Struct && !named {
				fields(key, field, pool)
				continue
			}
			before := reflect.ValueOf(field.Interface())
			if named {
				field.Set(reflect.ValueOf(other))
			} else {
				change(t, key, field)
			}
			if is, err := Pool("p", *pool); err != nil || reflect.DeepEqual(is, was) {
				t.Errorf("%s = %v changes nothing of the pool (%v)", key, field, err)
			}
			field.Set(before)
		}
	}
	fields("", reflect.ValueOf(&usual).Elem(), &usual)
}

// change gives a field another value.
func change(t *testing.T, key string, field reflect.Value) {
	t.Helper()
	switch value := field.Interface().(type) {
	case config.Duration:
		field.Set(reflect.ValueOf(value + config.Duration(time.Second)))
	case string:
		field.SetString(value + "other")
	case bool:
		field.SetBool(!value)
	case float64:
		field.SetFloat(value + 0.25)
	case []string:
		field.Set(reflect.ValueOf(append(slices.Clone(value), "OTHER")))
	case map[string]string:
		field.Set(reflect.ValueOf(map[string]string{"OTHER": "1"}))
	default:
		if !field.CanInt() {
			t.Fatalf("%s is a %T: name another value", key, value)
		}
		field.SetInt(field.Int() + 1)
	}
}
