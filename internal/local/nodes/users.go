package nodes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// The lists of users and groups that a machine has of its own are made when it starts.
// Users whom the host has got since then come into them when machines look anew.

// userFiles are those lists as a machine would have them if it started now. On a cluster
// of an ordinary user there are none: all jobs are its owner's.
func (l *Layout) userFiles() (map[string]string, error) {
	r, err := l.Record()
	if err != nil || r.UID != 0 {
		return nil, err
	}
	files, err := ownFiles(r)
	lists := map[string]string{}
	for _, f := range files {
		if f.Path == "/etc/passwd" || f.Path == "/etc/group" {
			lists[f.Path] = f.Text
		}
	}
	return lists, err
}

// ownOf are those of the lists that a machine has itself. Of the others it sees the host's.
func (l *Layout) ownOf(machine string, lists map[string]string) map[string]string {
	own := map[string]string{}
	for path, text := range lists {
		if _, err := os.Lstat(filepath.Join(l.machineDir(machine), "upper", path)); err == nil {
			own[path] = text
		}
	}
	return own
}

// learn brings the lists below a root up to date.
func learn(root string, lists map[string]string) error {
	var errs []error
	for path, text := range lists {
		path = filepath.Join(root, path)
		have, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was deleted on the machine
		}
		if now := caughtUp(string(have), text); err == nil && now != string(have) {
			err = whole.Write(path, []byte(now), 0o644)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// caughtUp is a machine's list with those of another that it lacks, and with members of
// its groups that it does not name. What jobs changed in it stays.
func caughtUp(have, other string) string {
	var all strings.Builder
	for line := range strings.Lines(have) {
		all.WriteString(withMembers(line, other))
	}
	for line := range strings.Lines(other) {
		if name, _, ok := strings.Cut(line, ":"); ok && !has(have, 0, name) {
			now := ended(all.String())
			all.Reset()
			all.WriteString(now + ended(line))
		}
	}
	return all.String()
}

// withMembers is a line of group(5), with the members that the same group has in another
// list. Other lines stay as they are.
func withMembers(line, other string) string {
	f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
	if len(f) != 4 {
		return line
	}
	members := strings.Split(f[3], ",")
	for o := range strings.Lines(other) {
		of := strings.Split(strings.TrimSpace(o), ":")
		if len(of) != 4 || of[0] != f[0] || of[2] != f[2] {
			continue
		}
		for m := range strings.SplitSeq(of[3], ",") {
			if m != "" && !slices.Contains(members, m) {
				members = append(members, m)
			}
		}
	}
	if members[0] == "" {
		members = members[1:]
	}
	return strings.Join(append(f[:3], strings.Join(members, ",")), ":") + "\n"
}
