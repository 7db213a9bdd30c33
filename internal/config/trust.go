package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	osuser "os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A configuration names programs that are run and an address that passwords are sent to. So
// it matters who could have written it: whoever owns the file, a directory on the way to it
// or a link, and whoever may write to one of them. In a sticky directory, as /tmp is, all may
// add what they like, but only the owner of a file may change or replace that.

// origin is who, besides root and us, could have written a file; nil: nobody.
type origin struct {
	foreign error // it, or a directory on the way to it, belongs to somebody else
	open    error // it, or a directory on the way to it, can be written by others
	shared  error // it is not ours, and lies where not only its owner may put files
	owners  []int // all of those somebodies
}

// refused returns why root must not use a file: another user than its owner may have written it, or put it there. For other
// users it is nil.
func (o *origin) refused() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return cmp.Or(o.open, o.shared)
}

// doubt returns why another user may have written a file, and the remedy; nil if none may have.
func (o *origin) doubt() error {
	doubt := errors.Join(o.open, o.foreign)
	if doubt == nil {
		return nil
	}
	text := strings.ReplaceAll(doubt.Error(), "\n", "; ")
	if os.Geteuid() == 0 && o.open == nil {
		text += "; chown it to root, or trust it with --trust-config"
	}
	return errors.New(text)
}

// within reports whether nobody could have written the file who could not have written that
// of which other tells.
func (o *origin) within(other *origin) bool {
	return !slices.ContainsFunc(o.owners, func(owner int) bool { return owner < 0 || !slices.Contains(other.owners, owner) })
}

// originOf looks at an open file and at the way to it, which was path.
func originOf(path string, file *os.File) (origin, error) {
	var o origin
	info, err := file.Stat()
	if err != nil {
		return o, err
	}
	if !info.Mode().IsRegular() { // a pipe has no way to it by which another could have come in
		o.note(path, info)
		return o, nil
	}
	end, err := o.walk(path)
	if err == nil && !os.SameFile(info, end) {
		err = errors.New("it was replaced while it was read")
	}
	if err != nil {
		o.foreign, o.owners = fmt.Errorf("nobody can tell to whom %s belongs: %w", path, err), []int{-1}
	}
	return o, nil
}

// originOfDir looks at a directory and at the way to it.
func originOfDir(path string) (origin, error) {
	var o origin
	_, err := o.walk(path)
	return o, err
}

// mostLinks is how many links a path may lead through.
const mostLinks = 40

// walk goes the way to path, link by link, and notes what it meets. It returns its end.
func (o *origin) walk(path string) (os.FileInfo, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat("/")
	if err != nil {
		return nil, err
	}
	o.note("/", info)
	at, links := "/", 0
	dirs := map[string]os.FileInfo{"/": info}
	for rest := strings.Split(path, "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if info, err = os.Lstat(next); err != nil {
			return nil, err
		}
		o.note(next, info)
		if info.Mode()&os.ModeSymlink == 0 {
			at, dirs[next] = next, info
			continue
		}
		if links++; links > mostLinks {
			return nil, syscall.ELOOP
		}
		to, err := os.Readlink(next)
		if err != nil {
			return nil, err
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = slices.Concat(strings.Split(to, "/"), rest)
	}
	end, err := os.Lstat(at)
	if err == nil && !end.IsDir() {
		delete(dirs, at)
		o.share(at, end, dirs)
	}
	return end, err
}

// share notes whether a file that is not ours is in a directory where other users than its owner may create files: a third user's,
// or one like /tmp.
func (o *origin) share(path string, info os.FileInfo, dirs map[string]os.FileInfo) {
	owner := uidOf(info)
	if owner == 0 || owner == os.Geteuid() {
		return
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		other, mode := uidOf(dirs[dir]), dirs[dir].Mode()
		switch {
		case other != 0 && other != os.Geteuid() && other != owner:
			o.shared = fmt.Errorf("%s belongs to %s, and its directory %s to %s", path, userName(owner), dir, userName(other))
		case mode&0o002 != 0 && dir == filepath.Dir(path):
			o.shared = fmt.Errorf("%s belongs to %s, and anybody may put files into %s", path, userName(owner), dir)
		}
	}
}

// uidOf is the owner of a file; root if the system does not say.
func uidOf(info os.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return 0
}

// note takes in whose a file, a directory or a link is, and who may write to it. What was
// noted first stays.
func (o *origin) note(path string, info os.FileInfo) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if owner := int(stat.Uid); owner != 0 && owner != os.Geteuid() && !slices.Contains(o.owners, owner) {
		o.owners = append(o.owners, owner)
		if o.foreign == nil {
			o.foreign = fmt.Errorf("%s belongs to %s", path, userName(owner))
		}
	}
	mode := info.Mode()
	if o.open != nil || mode&os.ModeSymlink != 0 || mode.IsDir() && mode&os.ModeSticky != 0 || readOnly(path) {
		return
	}
	list := hasACL(path)
	switch {
	case mode&0o002 != 0:
		o.open = fmt.Errorf("%s can be written by anybody (mode %v); chmod o-w it", path, mode)
	case mode&0o020 != 0 && list:
		o.open = fmt.Errorf("%s has an access control list, which is not read and may let others write to it (mode %v); chmod g-w it", path, mode)
	case mode&0o020 != 0 && !privateGroup(int(stat.Gid)):
		o.open = fmt.Errorf("%s can be written by group %d (mode %v); chmod g-w it", path, stat.Gid, mode)
	}
}

// readOnly reports whether the file system is mounted so that nobody writes to path,
// whatever its mode says: that of a ConfigMap lets anybody.
func readOnly(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}

// hasACL reports whether path has an access control list. The group's part of its mode is
// then the most that the list gives to anybody but the owner.
func hasACL(path string) bool {
	n, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}

// privateGroup reports whether a group is root's, or one that has our name and so, by
// custom, nobody else in it.
func privateGroup(gid int) bool {
	if gid == 0 {
		return true
	}
	if gid != os.Getegid() {
		return false
	}
	group, err := osuser.LookupGroupId(strconv.Itoa(gid))
	user, userErr := osuser.LookupId(strconv.Itoa(os.Geteuid()))
	return err == nil && userErr == nil && group.Name == user.Username
}

// userName names a user for people.
func userName(id int) string {
	if u, err := osuser.LookupId(strconv.Itoa(id)); err == nil {
		return fmt.Sprintf("user %s (%d)", u.Username, id)
	}
	return fmt.Sprintf("user %d", id)
}

// OthersMayWrite returns why a directory cannot be kept from others: who could write to it,
// or rename a directory on the way to it. nil: nobody but root and us.
func OthersMayWrite(dir string) error {
	o, err := originOfDir(dir)
	return errors.Join(err, o.foreign, o.open)
}
