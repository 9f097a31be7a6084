package local

import (
	"os"
	"syscall"
)

// foreign names the user whose cluster it is where that is neither the caller nor
// somebody whom the caller, being root, may act for. It is empty else.
func (r Ref) foreign() string {
	caller := os.Getuid()
	owner, name := r.owner()
	if caller == 0 || owner < 0 || owner == caller {
		return ""
	}
	return name
}

// owner is the user who made the cluster, or who owns what there is of it; -1 where
// there is nothing.
func (r Ref) owner() (uid int, name string) {
	if record, err := r.Layout().Record(); err == nil && record.User != "" {
		return record.UID, record.User
	}
	info, err := os.Lstat(r.Layout().Dir)
	if err != nil {
		return -1, ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, ""
	}
	return int(stat.Uid), userName(stat.Uid)
}
