package container

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// account is how a user is known outside.
type account struct {
	name, group, gecos, home, shell string
}

// findAccount looks a user up in the files of the machine, and asks its name service
// for those that are not there.
func findAccount(u User) (account, error) {
	a := account{name: strconv.Itoa(u.UID), group: strconv.Itoa(u.GID), home: "/", shell: "/bin/sh"}
	fields, err := lookUp("passwd", u.UID, 7, u)
	if err != nil {
		return a, err
	}
	if fields != nil {
		a.name, a.gecos, a.home, a.shell = fields[0], fields[4], fields[5], fields[6]
	}
	if fields, err = lookUp("group", u.GID, 4, u); err != nil {
		return a, err
	}
	if fields != nil {
		a.group = fields[0]
	}
	a.shell, a.home = cmp.Or(a.shell, "/bin/sh"), cmp.Or(a.home, "/")
	return a, nil
}

// findAccountAhead starts findAccount, which may have to ask a server. The function waits
// for its end.
func findAccountAhead(u User) func() (account, error) {
	find := sync.OnceValues(func() (account, error) { return findAccount(u) })
	go find()
	return find
}

// nameServiceWait is more than a name service takes that answers at all.
const nameServiceWait = 10 * time.Second

// lookUp finds the entry with a number for a user; nil if there is none.
func lookUp(database string, id, fields int, u User) ([]string, error) {
	data, err := os.ReadFile("/etc/" + database)
	if err != nil {
		return nil, fmt.Errorf("find user: %w", err)
	}
	if e := entry(data, id, fields); e != nil {
		return e, nil
	}
	getent, err := hostProgram("getent")
	if err != nil {
		return nil, nil // only the files then
	}
	var out bytes.Buffer
	cmd := askNameService(getent, database, id, u)
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("find user: %w", err)
	}
	late := time.AfterFunc(nameServiceWait, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait() // it fails for unknown users
	return entry(out.Bytes(), id, fields), nil
}

// askNameService is the command that does. What it loads and reads depends on its
// environment, so it gets none of the user's, and it runs as the user, not as root.
func askNameService(getent, database string, id int, u User) *exec.Cmd {
	cmd := exec.Command(getent, database, strconv.Itoa(id))
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	if os.Geteuid() == 0 && u.UID != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.credential()}
	}
	return cmd
}

func entry(data []byte, id, fields int) []string {
	number := strconv.Itoa(id)
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(parts) == fields && parts[2] == number {
			return parts
		}
	}
	return nil
}

// passwdFile is the image's /etc/passwd with root, nobody and the user in front.
func passwdFile(image []byte, u User, a account, shell string) []byte {
	return merged(image,
		fmt.Sprintf("root:x:0:0:root:/root:%s", shell),
		"nobody:x:65534:65534:nobody:/:/sbin/nologin",
		fmt.Sprintf("%s:x:%d:%d:%s:%s:%s", a.name, u.UID, u.GID, a.gecos, a.home, shell))
}

// groupFile is the image's /etc/group with the user's group in front.
func groupFile(image []byte, u User, a account) []byte {
	return merged(image, "root:x:0:", "nogroup:x:65534:", fmt.Sprintf("%s:x:%d:", a.group, u.GID))
}

// merged puts entries before those of a file that have other names. apt's own user
// is left out: apt becomes it for downloads, which cannot work with one user.
func merged(file []byte, entries ...string) []byte {
	var out bytes.Buffer
	seen := map[string]bool{"_apt": true}
	add := func(line string) {
		name, _, _ := strings.Cut(line, ":")
		if line != "" && !seen[name] {
			seen[name] = true
			out.WriteString(line + "\n")
		}
	}
	for _, e := range entries {
		add(e)
	}
	for line := range strings.Lines(string(file)) {
		add(strings.TrimRight(line, "\n"))
	}
	return out.Bytes()
}
