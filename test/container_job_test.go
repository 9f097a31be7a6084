package test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// pythonIn is an image with Python, made of this machine's.
func (c *cluster) pythonIn(name string) {
	c.t.Helper()
	base, err := imageTree()
	if err != nil {
		c.t.Fatal(err)
	}
	tree := filepath.Join(c.t.TempDir(), "tree")
	if out, err := exec.CommandContext(c.t.Context(), "cp", "-a", base, tree).CombinedOutput(); err != nil {
		c.t.Fatalf("cp: %v\n%s", err, out)
	}
	const python = "/usr/bin/python3"
	out, err := exec.CommandContext(c.t.Context(), python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))").Output()
	if err != nil {
		c.t.Fatal(err)
	}
	library := strings.TrimSpace(string(out))
	if err := installWithLibraries(python, tree); err != nil {
		c.t.Fatal(err)
	}
	// What the image says of a variable of the job's counts less.
	if err := os.WriteFile(filepath.Join(tree, "etc", "environment"), []byte("MINE=image\nTOKEN=image\n"), 0o644); err != nil {
		c.t.Fatal(err)
	}
	for _, line := range [][]string{
		{"mkdir", "-p", filepath.Dir(filepath.Join(tree, library))},
		{"cp", "-a", library, filepath.Join(tree, library)},
		{"mksquashfs", tree, filepath.Join(c.dir, name), "-quiet", "-no-progress", "-noappend", "-noI", "-noD", "-noF"},
	} {
		if out, err := exec.CommandContext(c.t.Context(), line[0], line[1:]...).CombinedOutput(); err != nil {
			c.t.Fatalf("%s: %v\n%s", strings.Join(line, " "), err, out)
		}
	}
}

// boxed is a program whose ranks meet, and of which each says where it is and what it has.
const boxed = `import hashlib, os, pathlib, socket, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
door = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(("", door[1])) as server:
        met = sorted(int(server.accept()[0].makefile().readline()) for _ in range(world - 1))
else:
    while True:
        try:
            with socket.create_connection(door) as s:
                s.sendall(f"{rank}\n".encode())
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    met = "0"
inside = pathlib.Path("/etc/os-release").read_text().strip()
secret = hashlib.sha256(os.environ["TOKEN"].encode()).hexdigest()
given = pathlib.Path("/given/file").read_text().strip()
shared = pathlib.Path("/fsx1/boxed/data/word").read_text().strip()
pathlib.Path(f"/fsx1/boxed/checkpoints/{rank}").write_text("saved")
print(f"rank {rank} of {world} with {os.environ['LOCAL_RANK']} met {met}: {inside}, {secret}, {given}, {shared}, {os.environ['MINE']}", flush=True)
`

// jobFileInImage: what a job file becomes runs its ranks in an image, where they meet, and have the shared file systems, what
// Mounts names, the job's environment and its secrets.
func jobFileInImage(t *testing.T, c *cluster) {
	c.pythonIn("py.sqsh")
	c.head("mkdir", "-p", "/fsx1/boxed/data")
	c.head("sh", "-c", "echo of all >/fsx1/boxed/data/word; mkdir boxed.given; echo of one >boxed.given/file")
	c.file("boxed.py", boxed)
	c.file("boxed.yaml", fmt.Sprintf(`Job: boxed
Nodes: 2
Ranks: 2
Launcher: srun
Image: py.sqsh
Mounts: [%s/boxed.given:/given]
Python: /usr/bin/python3
Script: boxed.py
Data: [/fsx1/boxed/data]
Checkpoints: /fsx1/boxed/checkpoints
Environment: {MINE: "a 'b' $c"}
Secrets: {TOKEN: {Environment: GIVEN_TOKEN}}
Time: 10
OnFailure: stop
`, c.dir))
	secret := rand.Text()
	cmd := c.command("job", "submit", "boxed.yaml")
	cmd.Env = append(cmd.Env, "GIVEN_TOKEN="+secret)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("submit: %v\n%s", err, &said)
	}
	log := "logs/boxed-" + strings.TrimSpace(string(out)) + ".out"
	c.await("the job ends", 3*time.Minute, func() bool { return strings.Contains(c.read(log), " with exit code ") })
	text := c.read(log)
	for rank, want := range []string{"with 0 met [1, 2, 3]", "with 1 met 0", "with 0 met 0", "with 1 met 0"} {
		want = fmt.Sprintf("rank %d of 4 %s: ID=tiny, %x, of one, of all, a 'b' $c\n", rank, want, sha256.Sum256([]byte(secret)))
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	saved := strings.Fields(c.head("ls", "/fsx1/boxed/checkpoints"))
	if want := []string{"0", "1", "2", "3"}; !slices.Equal(saved, want) {
		t.Errorf("in the checkpoints are %v", saved)
	}
	c.noContainerLeft()
}
