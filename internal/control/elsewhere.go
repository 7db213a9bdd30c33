package control

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// socketName is what the names of our sockets end with, in whichever directory. The kernel lists
// them by those under which they were made, of which listen tells.
var socketName = regexp.MustCompile(`control-([0-9]+)\.(?:sock|new)$`)

// elsewhere finds the supervisors that run on this host with other state directories and that we
// may ask, by process id: where one was started before its state_dir was changed, nothing but the
// kernel's list of sockets knows the old one. It finds none where there is no such list.
func elsewhere(ctx context.Context, others []int) map[string]string {
	list, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer list.Close()
	found := map[string]string{}
	for lines := bufio.NewScanner(list); lines.Scan(); {
		at := pathInList.FindString(lines.Text())
		name := socketName.FindStringSubmatch(at)
		if name == nil || found[name[1]] != "" || !filepath.IsAbs(at) {
			continue
		}
		if making, is := strings.CutSuffix(at, ".new"); is {
			at = making + ".sock"
		}
		if conn, err := dial(ctx, at, others); err == nil {
			conn.Close()
			found[name[1]] = at
		}
	}
	return found
}

// pathInList is the last field of a line of the list, which may have blanks in it.
var pathInList = regexp.MustCompile(`/.*$`)
