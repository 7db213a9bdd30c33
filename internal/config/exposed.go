package config

import (
	"fmt"
	"os"
	osuser "os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Exposed tells why files of a configuration cannot be trusted: they, or the
// directories they are in, could have been changed by anybody, by a user that the
// children of pools run as, or, where owners is not nil, they belong to somebody who is
// none of those. Root and we ourselves are always trusted. nil means that they can be.
//
// A pool whose children run as we do can change whatever we can; that is not seen here.
func Exposed(files []string, pools map[string]Pool, owners []int) error {
	users, groups := jobUsers(pools)
	for _, file := range files {
		if err := exposed(file, users, groups); err != nil {
			return err
		}
		owner := ownerOf(file)
		if owners != nil && owner > 0 && owner != os.Geteuid() && !slices.Contains(owners, owner) {
			return fmt.Errorf("%s belongs to user %d now, who owned no part of the configuration before", file, owner)
		}
		dirs := []string{filepath.Dir(file)}
		if target, err := filepath.EvalSymlinks(file); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
		for _, dir := range slices.Compact(dirs) {
			if err := exposed(dir, users, groups); err != nil {
				return err
			}
		}
	}
	return nil
}

// Owners returns the users that files belong to.
func Owners(files []string) []int {
	owners := []int{}
	for _, file := range files {
		owners = append(owners, ownerOf(file))
	}
	return owners
}

// exposed tells which of those who must not can write to path.
func exposed(path string, users, groups []int) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	mode := info.Mode()
	switch {
	case mode&0o002 != 0 && mode&os.ModeSticky == 0:
		return fmt.Errorf("%s can be written by anybody (mode %v); chmod o-w it", path, mode)
	case slices.Contains(users, int(stat.Uid)):
		return fmt.Errorf("%s belongs to user %d, as whom children run; chown it", path, stat.Uid)
	case mode&0o020 != 0 && slices.Contains(groups, int(stat.Gid)):
		return fmt.Errorf("%s can be written by group %d, in which children run (mode %v); chmod g-w it", path, stat.Gid, mode)
	}
	return nil
}

// ownerOf returns the user that a file belongs to, -1 if it is gone.
func ownerOf(file string) int {
	info, err := os.Stat(file)
	if err != nil {
		return -1
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(stat.Uid)
}

// jobUsers returns as whom the children of pools run, besides ourselves.
func jobUsers(pools map[string]Pool) (users, groups []int) {
	for _, pool := range pools {
		name, group := pool.Sandbox.User, pool.Sandbox.Group
		entry, err := osuser.Lookup(name)
		if err != nil {
			entry, err = osuser.LookupId(name)
		}
		if err == nil {
			name, group = entry.Uid, entry.Gid
		}
		if uid, err := strconv.Atoi(name); err == nil && uid != os.Geteuid() {
			users = append(users, uid)
			if gid, err := strconv.Atoi(group); err == nil {
				groups = append(groups, gid)
			}
		}
	}
	return users, groups
}
