package setup

import (
	"fmt"
	"maps"
	osuser "os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"oarlock/internal/config"
	"oarlock/internal/screen"
)

// needs are what a unit must grant for a configuration beyond the usual, and what it
// cannot grant.
type needs struct {
	Capabilities string   // with blanks between; "" for none
	Reasons      string   // why those: which keys of which pools
	StateMode    string   // of the state directory
	StateName    string   // below /var/lib; "" if it is elsewhere
	StateDir     string   // elsewhere, as a word of the unit
	StateMake    string   // what a shell makes it by
	Remarks      []string // what whoever installs the unit has to know, a sentence each
}

// needsOf works out the needs of the service of cfg that runs as user.
func needsOf(cfg config.Config, program, path, user string) needs {
	n := needs{StateMode: "0750", StateName: "oarlock"}
	n.capabilities(cfg, user)
	n.state(cfg, user)
	if cfg.Redis.URL == "embedded" {
		n.remark(`redis.url is "embedded": that Redis lives in the memory of this service and has no data directory. All jobs are gone with each stop, restart and crash of it; ` +
			`nothing is kept on a disk. For jobs that matter name a Redis of its own.`)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		pool := cfg.Pools[name]
		if !pool.Sandbox.NoNewPrivs {
			n.remark("pools.%s.sandbox.no_new_privs = false has no effect: NoNewPrivileges=yes holds for jobs, too, and most of the lines behind it imply it. "+
				"If its jobs need sudo or another setuid program, remove them all.", name)
		}
		if dir := pool.Sandbox.Dir; dir != config.PrivateDir {
			n.hidden("pools."+name+".sandbox.dir", dir)
		}
	}
	n.hidden("the program", program)
	n.hidden("the configuration", path)
	if user == "root" || user == "0" {
		n.remark("it runs as root, and so do the children of pools whose sandbox table names no user.")
	}
	return n
}

func (n *needs) remark(format string, args ...any) {
	n.Remarks = append(n.Remarks, screen.Visible(fmt.Sprintf(format, args...)))
}

// hidden tells that a file lies where the service sees a directory of its own.
func (n *needs) hidden(what, path string) {
	if below(path, "/tmp") || below(path, "/var/tmp") {
		n.remark("%s, %s, is out of its sight: it has a /tmp of its own. Move it, or set PrivateTmp=no.", what, path)
	}
}

// capabilities works out which rights of root sandboxes take.
func (n *needs) capabilities(cfg config.Config, user string) {
	need, why := map[string]bool{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		s := cfg.Pools[name].Sandbox
		grant := func(key string, capabilities ...string) {
			for _, capability := range capabilities {
				need["CAP_"+capability] = true
			}
			why = append(why, "pools."+name+".sandbox."+key)
		}
		other := s.User != "" && !sameUser(s.User, user)
		switch {
		case other && s.PrivateDir: // which is made for that user, and removed with all that is in it
			n.StateMode = "0711" // for it to get there
			grant("user", "SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER")
		case other:
			grant("user", "SETUID", "SETGID", "KILL")
		case (s.User != "" || s.Group != "") && s.PrivateDir:
			grant("group", "SETGID", "CHOWN")
		case s.User != "" || s.Group != "":
			grant("group", "SETGID")
		}
		if s.Nice < 0 {
			grant("nice", "SYS_NICE")
		}
		if s.OOMScoreAdj < 0 {
			grant("oom_score_adj", "SYS_RESOURCE")
		}
	}
	n.Capabilities = strings.Join(slices.Sorted(maps.Keys(need)), " ")
	n.Reasons = strings.Join(why, ", ")
}

// stateName is the name of a directory that systemd makes below /var/lib, which may do
// without quotes.
var stateName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$`)

// state works out how the service gets its state directory.
func (n *needs) state(cfg config.Config, user string) {
	dir := filepath.Clean(cfg.Supervisor.StateDir)
	if cfg.Supervisor.StateDir == "" {
		return
	}
	if name, found := strings.CutPrefix(dir, "/var/lib/"); found && stateName.MatchString(name) {
		n.StateName = name
		return
	}
	n.StateName, n.StateDir = "", unitWord(dir, false)
	n.StateMake = fmt.Sprintf("install -d -o %s -g %s -m %s '%s'", user, primaryGroup(user), n.StateMode, strings.ReplaceAll(dir, "'", `'\''`))
	n.hidden("supervisor.state_dir", dir)
}

// below reports whether path lies in the directory dir.
func below(path, dir string) bool { return strings.HasPrefix(filepath.Clean(path), dir+"/") }

// sameUser reports whether two names, or numbers, are of one user.
func sameUser(a, b string) bool { return a == b || userID(a) == userID(b) }

func userID(name string) string {
	if entry, err := osuser.Lookup(name); err == nil {
		return entry.Uid
	}
	return name
}

// primaryGroup is the group that a user is in by itself: of the user's name, where this host
// knows of no other.
func primaryGroup(user string) string {
	entry, err := osuser.Lookup(user)
	if err != nil {
		entry, err = osuser.LookupId(user)
	}
	if err != nil {
		return user
	}
	if group, err := osuser.LookupGroupId(entry.Gid); err == nil {
		return group.Name
	}
	return entry.Gid
}
