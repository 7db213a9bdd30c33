package config

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"oarlock/internal/must"
)

func TestExposed(t *testing.T) {
	const job = 54321 // a user that children run as
	pools := map[string]Pool{"mail": {Sandbox: Sandbox{User: strconv.Itoa(job), Group: strconv.Itoa(job)}}}
	own := map[string]Pool{"mail": {}}
	tests := []struct {
		name   string
		pools  map[string]Pool
		mode   os.FileMode // of the file
		dir    os.FileMode // of its directory
		owner  int         // of the file; 0: ours
		group  int         // of the file; 0: ours
		owners []int
		want   string // part of the error; "": none
	}{
		{"ours alone", own, 0o600, 0o755, 0, 0, nil, ""},
		{"of a group of ours", own, 0o664, 0o775, 0, 0, nil, ""},
		{"anybody's", own, 0o666, 0o755, 0, 0, nil, "written by anybody"},
		{"in a directory of anybody's", own, 0o600, 0o777, 0, 0, nil, "written by anybody"},
		{"in a directory like /tmp", own, 0o600, 0o777 | os.ModeSticky, 0, 0, nil, ""},
		{"the children's", pools, 0o600, 0o755, job, 0, nil, "as whom children run"},
		{"of the children's group", pools, 0o660, 0o755, 0, job, nil, "in which children run"},
		{"read by the children's group", pools, 0o640, 0o755, 0, job, nil, ""},
		{"somebody's", own, 0o600, 0o755, job, 0, nil, ""},
		{"still somebody's", own, 0o600, 0o755, job, 0, []int{0, job}, ""},
		{"somebody else's now", own, 0o600, 0o755, job, 0, []int{0}, "belongs to user 54321 now"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if (tt.owner != 0 || tt.group != 0) && os.Geteuid() != 0 {
				t.Log("only root can give a file away")
				return
			}
			file := filepath.Join(t.TempDir(), "dir", "oarlock.toml")
			must.Do(t, os.Mkdir(filepath.Dir(file), 0o755))
			must.Do(t, os.WriteFile(file, nil, 0o600))
			must.Do(t, os.Chmod(file, tt.mode))
			must.Do(t, os.Chmod(filepath.Dir(file), tt.dir))
			if tt.owner != 0 || tt.group != 0 {
				must.Do(t, os.Chown(file, tt.owner, tt.group))
			}
			err := Exposed([]string{file}, tt.pools, tt.owners)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Exposed() = %v, want %q", err, tt.want)
			}
		})
	}
	if err := Exposed([]string{filepath.Join(t.TempDir(), "gone")}, own, nil); err == nil {
		t.Error("a file that is gone is trusted")
	}
}
