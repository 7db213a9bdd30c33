package doctor

import "testing"

// A Redis that lacks what we call is said to be too old, with what to do; of one that hides its version that is said.
func TestOldestRedis(t *testing.T) {
	for version, want := range map[string]Level{"2.8.24": Bad, "3.2.0": Bad, "5.0.14": Bad, "6.0.16": OK, "7.4.1": OK, "10.0.0": OK, "": Note, "soon": Note} {
		var found []Finding
		d := &Doctor{Report: func(f Finding) { found = append(found, f) }}
		d.version(map[string]string{"redis_version": version})
		if len(found) != 1 || found[0].Level != want || (want == Bad) != (found[0].Advice != "") {
			t.Errorf("of version %q is said %+v, want %s", version, found, want)
		}
	}
}
