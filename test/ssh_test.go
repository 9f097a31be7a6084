package test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// needSSH skips a test where OpenSSH is not here.
func needSSH(t *testing.T) {
	t.Helper()
	for _, file := range []string{"/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/mpirun"} {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatalf("this machine lacks %s", file)
		}
		t.Skipf("this machine lacks %s", file)
	}
}

// sshBetweenMachines: whoever has the cluster logs in from each machine to each without a key or a password,
// programs that begin others by SSH work, and nothing of it is outside.
func sshBetweenMachines(t *testing.T, c *cluster) {
	needSSH(t)
	// The nodes stay: MPI runs beside Slurm.
	hosts := strings.Fields(c.head("srun", "--nodes=2", "hostname"))
	c.file("hosts", hosts[0]+" slots=1\n"+hosts[1]+" slots=1\n")
	c.file("ssh.sh", `set -e
ssh "$1" hostname
ssh "$1" ssh "$2" hostname
ssh "$2" ssh "$(hostname)" hostname
ssh ec2-user@"$1" id -u
ssh -tt "$1" tty | grep -q /dev/pts/ && echo terminal
echo copied >/tmp/sent
scp -q /tmp/sent "$1":/tmp/received
ssh "$1" cat /tmp/received
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun --hostfile hosts -np 2 hostname | sort
`)
	r := c.run("exec", "--", "bash", "./ssh.sh", hosts[0], hosts[1])
	head := strings.TrimSpace(c.head("hostname"))
	id := strings.TrimSpace(c.head("id", "-u"))
	sorted := []string{min(hosts[0], hosts[1]), max(hosts[0], hosts[1])}
	want := strings.Join([]string{hosts[0], hosts[1], head, id, "terminal", "copied", sorted[0], sorted[1]}, "\n") + "\n"
	if r.code != 0 || r.stdout != want {
		t.Errorf("exit code %d, got %q, want %q\n%s", r.code, r.stdout, want, r.stderr)
	}
	if r := c.run("ssh", "--", "hostname"); r.code != 0 || r.stdout != head+"\n" {
		t.Errorf("from outside: exit code %d, %q\n%s", r.code, r.stdout, r.stderr)
	}
}

// sshOfOtherUsers: on a cluster of root's a user is himself and nobody else.
func sshOfOtherUsers(t *testing.T, c *cluster) {
	needSSH(t)
	host := strings.TrimSpace(c.head("srun", "hostname"))
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Fatal(err)
	}
	as := func(user string) result {
		return c.run("exec", "--", "setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "ssh", "-o", "UserKnownHostsFile=/dev/null", user+"@"+host, "id", "-un")
	}
	for _, user := range []string{"root", "ec2-user", "nobody"} {
		if r := as(user); r.code != 255 || !strings.Contains(r.stderr, "Permission denied (publickey)") {
			t.Errorf("daemon as %s: exit code %d, %q\n%s", user, r.code, r.stdout, r.stderr)
		}
	}
	if r := as("daemon"); strings.Contains(r.stderr, "Permission denied") {
		t.Errorf("daemon is not let in as himself: %s", r.stderr)
	}
}

// sshHasJobsRights: whoever logs in has the rights that jobs have, on the head node, too.
func sshHasJobsRights(t *testing.T, c *cluster) {
	needSSH(t)
	const rights = "grep CapBnd /proc/self/status"
	want := c.head("srun", "sh", "-c", rights)
	host := strings.TrimSpace(c.head("srun", "hostname"))
	for _, where := range [][]string{{"ssh", "--"}, {"ssh", "--", "ssh", host}, {"exec", "--", "sh", "-c"}, {"exec", "--node", host, "--", "sh", "-c"}} {
		if r := c.run(append(where, rights)...); r.code != 0 || r.stdout != want {
			t.Errorf("%v: exit code %d, %q, and a job has %q\n%s", where, r.code, r.stdout, want, r.stderr)
		}
	}
}

// flood opens connections to a machine and says nothing on them. While they are open, it logs in there by way of another.
const flood = `
import socket, subprocess, sys
at, by = sys.argv[1:]
made = [socket.create_connection((at, 22)) for _ in range(130)]
open, refused = [], 0
for s in made:
    if s.recv(4) == b"SSH-":
        open.append(s)
    else:
        refused += 1
print(len(open), refused)
print(subprocess.run(["ssh", by, "ssh", at, "hostname"], capture_output=True, text=True).stdout, end="")
print(subprocess.run(["ssh", at, "hostname"], capture_output=True).returncode)
for s in open:
    s.close()
`

// sshEnduresFlood: connections on which nobody logs in keep nobody out but where they come from.
func sshEnduresFlood(t *testing.T, c *cluster) {
	needSSH(t)
	hosts := strings.Fields(c.head("srun", "--nodes=2", "hostname"))
	if r := c.run("exec", "--", "python3", "-c", flood, hosts[0], hosts[1]); r.code != 0 || r.stdout != "100 30\n"+hosts[0]+"\n255\n" {
		t.Errorf("exit code %d, %q\n%s", r.code, r.stdout, r.stderr)
	}
	c.await("who opened them logs in", patience, func() bool { return c.run("exec", "--", "ssh", hosts[0], "true").code == 0 })
}
