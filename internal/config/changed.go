package config

import (
	"reflect"
	"slices"
)

// Changed returns the keys outside of the pools that c has otherwise than before, sorted.
func (c Config) Changed(before Config) []string {
	c.Pools, before.Pools = nil, nil
	return changed("", reflect.ValueOf(&c).Elem(), reflect.ValueOf(&before).Elem())
}

// Changed returns the keys that p has otherwise than before, sorted; those of its tables
// with the table: sandbox.env.
func (p Pool) Changed(before Pool) []string {
	return changed("", reflect.ValueOf(&p).Elem(), reflect.ValueOf(&before).Elem())
}

// changed compares two structs whose tags name the keys.
func changed(path string, now, before reflect.Value) (keys []string) {
	old := fieldsOf(before)
	for key, field := range fieldsOf(now) {
		_, own := field.Addr().Interface().(value)
		switch {
		case reflect.DeepEqual(field.Interface(), old[key].Interface()):
		case field.Kind() == reflect.Map:
			keys = append(keys, changedEntries(join(path, key), field, old[key])...)
		case field.Kind() == reflect.Struct && !own:
			keys = append(keys, changed(join(path, key), field, old[key])...)
		default:
			keys = append(keys, join(path, key))
		}
	}
	slices.Sort(keys)
	return keys
}

// changedEntries compares two tables whose keys the user chooses.
func changedEntries(path string, now, before reflect.Value) (keys []string) {
	for _, table := range []reflect.Value{now, before} {
		for _, name := range table.MapKeys() {
			is, was := now.MapIndex(name), before.MapIndex(name)
			if is.IsValid() && was.IsValid() && reflect.DeepEqual(is.Interface(), was.Interface()) {
				continue
			}
			if key := join(path, name.String()); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
