package controller

import (
	"os/user"
	"strconv"
)

// Users are those who may ask a controller for changes: root, or the cluster's own user
// who is root here, and of those who are named who there is.
func Users(names ...string) []int {
	users := []int{0}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if uid, err := strconv.Atoi(u.Uid); err == nil {
			users = append(users, uid)
		}
	}
	return users
}
