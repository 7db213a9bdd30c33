package config

import "oarlock/internal/rules"

// The most payloads that a job may have, and the most bytes of them, as queue has them.
const (
	mostPayloads = 1000
	mostRunBytes = 4 << 20
)

// order checks what the table of a queue says of keys.
func (d *decoder) order(at string, q Queue) {
	if q.Order != "" && q.Order != "key" {
		d.bad(at+".order", `must be "key" or left out, not %q`, q.Order)
	}
	d.choice(at+".turns", q.Turns, Turns)
	d.choice(at+".after_fail", q.AfterFail, AfterFails)
	if q.KeyFrom != "" {
		if _, err := rules.ParsePointer(q.KeyFrom); err != nil {
			d.bad(at+".key_from", "%v", err)
		}
	}
	d.choice(at+".merge", q.Merge, Merges)
	d.choice(at+".score", q.Score, Scores)
	if q.RunPayloads < 1 || q.RunPayloads > mostPayloads {
		d.bad(at+".run_payloads", "must be from 1 to %d: %d", mostPayloads, q.RunPayloads)
	}
	if q.RunBytes < 1 || q.RunBytes > mostRunBytes {
		d.bad(at+".run_bytes", "must be from 1B to 4MiB")
	}
	if q.Order != "" {
		return
	}
	usual := DefaultQueue()
	for key, said := range map[string]bool{
		"turns": q.Turns != usual.Turns, "after_fail": q.AfterFail != usual.AfterFail, "merge": q.Merge != usual.Merge, "score": q.Score != usual.Score,
		"run_payloads": q.RunPayloads != usual.RunPayloads, "run_bytes": q.RunBytes != usual.RunBytes,
	} {
		if said {
			d.bad(at+"."+key, `needs order = "key"`)
		}
	}
}
