package private

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// openUp lets the owner of a directory, us, read, change and enter it. If name is no directory, nothing
// changes and an error is returned.
func openUp(parent int, name string) error {
	// O_PATH needs no right to the directory itself. The file behind such a descriptor is changed
	// through its name in /proc, by which no link can get in the way.
	fd, err := unix.Openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&0o700 == 0o700 {
		return nil
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}
