package nodes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/local/machine"
)

// ownFiles are the files that a machine has instead of the host's. They are made when it
// starts: by then the host may have users that it had not when the cluster was made.
func ownFiles(r Record) ([]machine.File, error) {
	users, err := hostFile("/etc/passwd")
	if err != nil {
		return nil, err
	}
	groups, err := hostFile("/etc/group")
	if err != nil {
		return nil, err
	}
	files := slices.Clone(r.Files)
	for path, texts := range map[string][2]string{"/etc/passwd": {users, ownUsers(users, r)}, "/etc/group": {groups, ownGroups(groups, r)}} {
		if texts[0] != texts[1] {
			files = append(files, machine.File{Path: path, Text: texts[1], Mode: 0o644})
		}
	}
	return files, nil
}

// hostFile is the text of a file of the host, empty where it has none.
func hostFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at this machine's users: %w", err)
	}
	return string(text), nil
}

// has tells whether a line of passwd(5) or group(5) has a value in one of its fields.
func has(lines string, field int, value string) bool {
	for line := range strings.Lines(lines) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) > field && f[field] == value {
			return true
		}
	}
	return false
}

// ownUsers adds the image's user at the end, as another name of the cluster's owner:
// a look-up by the owner's number finds his own name first. If this machine's list lacks
// the owner, nothing is added: the look-up would find only the other name.
func ownUsers(users string, r Record) string {
	if r.ImageUser == "" || has(users, 0, r.ImageUser) || !has(users, 2, strconv.Itoa(r.UID)) {
		return openShell(users, r.UID)
	}
	return openShell(ended(users), r.UID) + fmt.Sprintf("%s:x:%d:%d:%s's other name:%s:/bin/bash\n", r.ImageUser, r.UID, r.GID, r.User, imageHome(r.ImageUser))
}

// ownGroups does so for groups. On a cluster of an ordinary user the group tty is left
// out: SSH's server would try to give terminals to it, which only root can.
func ownGroups(groups string, r Record) string {
	if r.UID != 0 {
		groups = without(groups, "tty")
	}
	if r.ImageUser == "" || has(groups, 0, r.ImageUser) || !has(groups, 2, strconv.Itoa(r.GID)) {
		return groups
	}
	return ended(groups) + fmt.Sprintf("%s:x:%d:\n", r.ImageUser, r.GID)
}

func without(lines, name string) string {
	var all strings.Builder
	for line := range strings.Lines(lines) {
		if !strings.HasPrefix(line, name+":") {
			all.WriteString(line)
		}
	}
	return all.String()
}

// openShell gives the owner a shell where this machine has none for him, as for an account
// of a service: on machines of his own he may log in.
func openShell(users string, uid int) string {
	var all strings.Builder
	for line := range strings.Lines(users) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) == 7 && f[2] == strconv.Itoa(uid) && (strings.HasSuffix(f[6], "/nologin") || strings.HasSuffix(f[6], "/false")) {
			f[6] = "/bin/bash"
			line = strings.Join(f, ":") + "\n"
		}
		all.WriteString(line)
	}
	return all.String()
}

func ended(lines string) string {
	if lines == "" {
		return ""
	}
	return strings.TrimRight(lines, "\n") + "\n"
}

// imageHome is the home directory of an image's default user.
func imageHome(user string) string { return "/home/" + user }

// Names are the names of a user by his number, his own first. A cluster of an ordinary
// user has only its owner, who is root where the cluster's daemons are.
func (r Record) Names(uid int) []string {
	if r.UID != 0 {
		if uid != os.Getuid() {
			return nil
		}
		return compact(r.User, r.ImageUser)
	}
	users, err := hostFile("/etc/passwd")
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(users) {
		if f := strings.Split(line, ":"); len(f) > 2 && f[2] == strconv.Itoa(uid) {
			names = append(names, f[0])
		}
	}
	if uid == 0 && !has(users, 0, r.ImageUser) {
		names = append(names, r.ImageUser)
	}
	return compact(names...)
}

func compact(names ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}
