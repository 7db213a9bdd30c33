package trial

import "github.com/prometheus/procfs"

// groupOf lists the processes of a process group that are not dead.
func groupOf(pgid int) ([]int, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	var members []int
	for _, proc := range all {
		// One that has gone meanwhile is no error.
		if stat, err := proc.Stat(); err == nil && stat.PGRP == pgid && stat.State != "Z" {
			members = append(members, proc.PID)
		}
	}
	return members, nil
}
