package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/machine"
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
	if r.ImageUser == "" || has(users, 0, r.ImageUser) || !has(users, 2, strconv.Itoa(r.UID)) {
		return files, nil // an owner whom this machine does not list himself would go by the other name
	}
	files = append(files, machine.File{Path: "/etc/passwd", Text: aliasUser(users, r), Mode: 0o644})
	if !has(groups, 0, r.ImageUser) && has(groups, 2, strconv.Itoa(r.GID)) {
		files = append(files, machine.File{Path: "/etc/group", Text: aliasGroup(groups, r), Mode: 0o644})
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

// aliasUser adds the image's user at the end, as another name of the cluster's owner:
// whoever asks for the name of his number finds his own name first.
func aliasUser(users string, r Record) string {
	return ended(users) + fmt.Sprintf("%s:x:%d:%d:%s's other name:%s:/bin/bash\n", r.ImageUser, r.UID, r.GID, r.User, ImageHome(r.ImageUser))
}

func aliasGroup(groups string, r Record) string {
	return ended(groups) + fmt.Sprintf("%s:x:%d:\n", r.ImageUser, r.GID)
}

func ended(lines string) string {
	if lines == "" {
		return ""
	}
	return strings.TrimRight(lines, "\n") + "\n"
}

// ImageHome is the home directory of an image's default user.
func ImageHome(user string) string { return "/home/" + user }
