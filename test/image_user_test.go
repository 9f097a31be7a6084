package test

import (
	"os"
	"strings"
	"testing"
)

// imageUserIsOwner: what guides do as the image's user or by sudo works, and the owner is
// who he is.
func imageUserIsOwner(t *testing.T, c *cluster) {
	me := strings.TrimSpace(c.head("id", "-un"))
	c.file("setup.sh", `#!/bin/bash
set -e
id -un
cd ~ec2-user
[ "$PWD" -ef /home/ec2-user ]
echo "$1" >written
chown ec2-user:ec2-user written
sudo chown ec2-user written
sudo bash -c 'id -un'
A=1 sudo -E bash -c 'echo $A$SUDO_USER'
sudo -u ec2-user cat written
`)
	for i, got := range []string{c.head("bash", "./setup.sh", "head"), c.head("srun", "bash", "./setup.sh", "node")} {
		want := me + "\n" + me + "\n1" + me + "\n" + []string{"head", "node"}[i] + "\n"
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := c.head("cat", "/home/ec2-user/written"); got != "node\n" {
		t.Errorf("the head node has %q in the home directory that the node wrote to", got)
	}
	if host, err := os.ReadFile("/etc/passwd"); err != nil || strings.Contains(string(host), "other name") {
		t.Errorf("the host's users: %s %v", host, err)
	}
}

// dfShowsFileSystems: df names what the cluster file mounts, and does as it is told else.
func dfShowsFileSystems(t *testing.T, c *cluster) {
	lines := func(args ...string) (has []string) {
		for line := range strings.Lines(c.head(append([]string{"srun", "df"}, args...)...)) {
			if f := strings.Fields(line); len(f) > 0 && (f[len(f)-1] == "/fsx1" || f[len(f)-1] == "/home") {
				has = append(has, f[len(f)-1])
			}
		}
		return has
	}
	for _, args := range [][]string{nil, {"-h"}, {"-hT"}, {"-B", "1M"}} {
		if got := strings.Join(lines(args...), " "); got != "/fsx1 /home" {
			t.Errorf("df %q shows %q", args, got)
		}
	}
	// What keeps a node from writing to this machine's directories is not the cluster's, but shown to who asks.
	for line := range strings.Lines(c.head("srun", "df", "-hT")) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "overlay" && f[len(f)-1] != "/" {
			t.Errorf("df shows %s", line)
		}
	}
	// Where something is mounted below /usr, each of its directories has an overlay of its own.
	if got := c.head("srun", "df", "-t", "overlay"); !strings.Contains(got, " /usr") {
		t.Errorf("df -t overlay shows\n%s", got)
	}
	if got := strings.Join(lines("-h", "/fsx1"), " "); got != "/fsx1" {
		t.Errorf("df of one directory shows %q", got)
	}
}
