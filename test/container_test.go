package test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// needContainers skips a test where containers cannot be made or tried.
func needContainers(t *testing.T) {
	t.Helper()
	need(t)
	for _, file := range []string{"/usr/bin/mksquashfs", "/usr/bin/squashfuse", "/usr/include/slurm/spank.h", "/usr/bin/cc", "/dev/fuse"} {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatalf("this machine lacks %s", file)
		}
		t.Skipf("this machine lacks %s", file)
	}
}

// TestContainers runs steps in containers, on a cluster of root's.
func TestContainers(t *testing.T) {
	t.Parallel()
	needContainers(t)
	c := newCluster(t, fileOf(3)+dataFile)
	c.squash("x")
	c.each(map[string]func(*testing.T, *cluster){
		"runs_in_the_image":        runsInImage,
		"image_is_mounted":         imageIsMounted,
		"mounts":                   mountsInContainer,
		"is_written_if_asked":      isWrittenIfAsked,
		"works_where_it_is_told":   worksWhereTold,
		"remaps_root":              remapsRoot,
		"unshares":                 unshares,
		"keeps_a_name":             keepsName,
		"saves":                    savesContainer,
		"tasks_share_one":          tasksShareOne,
		"runs_on_two_nodes":        containersOnTwoNodes,
		"other_users":              otherUsersContainer,
		"batch_in_the_container":   batchInContainer,
		"salloc":                   sallocContainer,
		"image_with_configuration": imageWithConfig,
		"image_of_the_registry":    imageOfTheRegistry,
		"image_is_built":           imageIsBuilt,
		"pmix":                     pmixInContainer,
		"keeps_variables":          keepsVariables,
		"finds_s3":                 containerFindsS3,
		"heeds_enroot":             heedsEnroot,
		"job_file":                 jobFileInImage,
		"refuses":                  refusesContainers,
		"step_is_cancelled":        containerIsCancelled,
		"import_is_cancelled":      importIsCancelled,
		"parties_are_killed":       partiesAreKilled,
		"stays_on_its_node":        staysOnItsNode,
		"host_stays":               hostStaysWhole,
	})
	c.head("scontrol", "update", "nodename=gpu-dy-p5e-[1-3]", "state=power_down_force")
}

// TestContainersOfAnOrdinaryUser: the same, without privileges.
func TestContainersOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	needContainers(t)
	if info, err := os.Stat("/dev/fuse"); err != nil || info.Mode().Perm()&0o006 != 0o006 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("ordinary users may not open /dev/fuse")
		}
		t.Skip("ordinary users may not open /dev/fuse")
	}
	c := ordinary(t, fileOf(2)+dataFile)
	c.must("up", "--no-test", "cluster.yaml")
	c.squash("x")
	c.each(map[string]func(*testing.T, *cluster){
		"runs_in_the_image":   runsInImage,
		"mounts":              mountsInContainer,
		"is_written_if_asked": isWrittenIfAsked,
		"remaps_root":         remapsRoot,
		"keeps_a_name":        keepsName,
		"tasks_share_one":     tasksShareOne,
		"runs_on_two_nodes":   containersOnTwoNodes,
		"pmix":                pmixInContainer,
		"keeps_variables":     keepsVariables,
		"finds_s3":            containerFindsS3,
		"job_file":            jobFileInImage,
		"parties_are_killed":  partiesAreKilled,
	})
}

// srun runs a step in a container of x.sqsh, which succeeds.
func (c *cluster) srun(args ...string) string {
	c.t.Helper()
	out := c.head(append([]string{"srun", "--container-image=./x.sqsh"}, args...)...)
	c.noContainerLeft()
	return out
}

// refused runs a step that fails, and wants words of its errors.
func (c *cluster) refused(words []string, args ...string) {
	c.t.Helper()
	r := c.run(append([]string{"exec", "--", "srun"}, args...)...)
	if r.code == 0 {
		c.t.Errorf("srun %s succeeds:\n%s", strings.Join(args, " "), r.stdout)
	}
	for _, word := range words {
		if !strings.Contains(r.stderr, word) {
			c.t.Errorf("srun %s: no %q in\n%s", strings.Join(args, " "), word, r.stderr)
		}
	}
	c.noContainerLeft()
}

func runsInImage(t *testing.T, c *cluster) {
	if got := c.srun("cat", "/etc/os-release"); got != "ID=tiny\n" {
		t.Errorf("got %q", got)
	}
	if got := c.head("srun", "--container-image="+c.dir+"/x.sqsh", "sh", "-c", "echo $SLURM_PROCID; id -u; readlink /proc/self/exe"); !strings.HasPrefix(got, "0\n") {
		t.Errorf("got %q", got)
	}
	if got := c.must("exec", "--", "env", "PYXIS_CONTAINER_IMAGE=./x.sqsh", "srun", "cat", "/etc/os-release"); got != "ID=tiny\n" {
		t.Errorf("by the environment: %q", got)
	}
}

func mountsInContainer(t *testing.T, c *cluster) {
	c.file("given", "from outside\n")
	got := c.srun("--container-mounts="+c.dir+":/in:ro,"+c.dir+":/both,tmpfs:/work", "sh", "-c",
		"cat /in/given; touch /in/no 2>/dev/null || echo read-only; echo from inside >/both/answer; touch /work/x && ls /work")
	if got != "from outside\nread-only\nx\n" {
		t.Errorf("got %q", got)
	}
	if got := c.read("answer"); got != "from inside\n" {
		t.Errorf("outside there is %q", got)
	}
	// A mount in a mount, and one at its own path.
	if got := c.srun("--container-mounts="+c.dir+":/in,/etc/hostname:/in/inner", "cat", "/in/inner"); got == "" {
		t.Error("a file in a mounted directory is empty")
	}
	if got := c.srun("--container-mounts="+c.dir, "cat", c.dir+"/given"); got != "from outside\n" {
		t.Errorf("at its own path: %q", got)
	}
	// What the guides mount: the nodes have EFA's folder.
	c.srun("--container-mounts=/dev/infiniband:/dev/infiniband,/dev/shm:/dev/shm", "ls", "/dev/infiniband")
}

func isWrittenIfAsked(t *testing.T, c *cluster) {
	const try = "touch /usr/new 2>/dev/null && ls /usr/new || echo read-only"
	for option, want := range map[string]string{"--container-readonly": "read-only\n", "--container-writable": "/usr/new\n"} {
		if got := c.srun(option, "sh", "-c", try); got != want {
			t.Errorf("%s: %q, want %q", option, got, want)
		}
	}
	if got := c.srun("sh", "-c", try); got != "read-only\n" {
		t.Errorf("with nothing asked: %q", got)
	}
}

func worksWhereTold(t *testing.T, c *cluster) {
	if got := c.srun("--container-workdir=/usr/bin", "readlink", "/proc/self/cwd"); got != "/usr/bin\n" {
		t.Errorf("got %q", got)
	}
	c.refused([]string{"error: muster:", "/nowhere: No such file or directory"}, "--container-image=./x.sqsh", "--container-workdir=/nowhere", "true")
}

func remapsRoot(t *testing.T, c *cluster) {
	if got := c.srun("--container-remap-root", "id", "-u"); got != "0\n" {
		t.Errorf("got %q", got)
	}
	if got := c.srun("--container-remap-root", "--container-writable", "sh", "-c", "chown 12:34 /etc/passwd && echo done"); got != "done\n" {
		t.Errorf("chown, which package managers do: %q", got)
	}
}

func unshares(t *testing.T, c *cluster) {
	// Message queues go with IPC: each such namespace has a file system of its own for them, over that of the node.
	const ask = "for n in net ipc uts; do readlink /proc/self/ns/$n; done; while read a b dev c at d; do [ $at != /dev/mqueue ] || echo $dev; done </proc/self/mountinfo"
	var host, own []string
	out := c.head("srun", "--nodelist=gpu-dy-p5e-1", "sh", "-c", ask)
	host = strings.Fields(out)
	own = strings.Fields(c.srun("--nodelist=gpu-dy-p5e-1", "--container-unshare=ipc,uts", "sh", "-c", ask))
	if len(host) != 4 || len(own) < 4 || own[0] != host[0] || own[1] == host[1] || own[2] == host[2] || own[len(own)-1] == host[3] {
		t.Errorf("the node has %v, the container %v", host, own)
	}
	own = strings.Fields(c.srun("--nodelist=gpu-dy-p5e-1", "--container-unshare=net", "sh", "-c", ask))
	if len(own) != 4 || own[0] == host[0] || own[1] != host[1] || own[2] != host[2] || own[3] != host[3] {
		t.Errorf("the node has %v, the container %v", host, own)
	}
}

func keepsName(t *testing.T, c *cluster) {
	c.file("name.sh", `#!/bin/sh
srun --container-image=./x.sqsh --container-name=kept --container-writable touch /usr/kept
srun --container-name=kept ls /usr/kept
srun --container-name=kept:create --container-image=./x.sqsh true && echo made twice
srun --container-name=kept:exec true && echo runs
srun --container-name=other ls / && echo came from nowhere
srun --container-image=./x.sqsh ls /usr/kept && echo in another
echo end
`)
	c.head("sbatch", "--wait", "--output=name.out", "name.sh")
	out := c.read("name.out")
	if !strings.Contains(out, "\n/usr/kept\n") && !strings.HasPrefix(out, "/usr/kept\n") || !strings.HasSuffix(out, "end\n") {
		t.Errorf("got\n%s", out)
	}
	for _, not := range []string{"made twice", "runs", "came from nowhere", "in another"} {
		if strings.Contains(out, not+"\n") {
			t.Errorf("%s:\n%s", not, out)
		}
	}
	c.noContainerLeft()
	c.refused([]string{"error: muster:", "kept"}, "--container-name=kept", "true")
}

func savesContainer(t *testing.T, c *cluster) {
	c.srun("--container-writable", "--container-save=./saved.sqsh", "sh", "-c", "echo saved >/usr/saved")
	if got := c.head("srun", "--container-image=./saved.sqsh", "cat", "/usr/saved"); got != "saved\n" {
		t.Errorf("got %q", got)
	}
	findsDamage(t, c, filepath.Join(c.dir, "saved.sqsh"))
	c.refused([]string{"Invalid --container-save"}, "--container-image=./x.sqsh", "--container-save=/tmp/", "true")
}

// tasksShareOne: the tasks of a step on a node are in one container, with one /dev/shm.
func tasksShareOne(t *testing.T, c *cluster) {
	out := c.srun("--nodes=1", "--ntasks=16", "sh", "-c",
		"touch /dev/shm/$SLURM_PROCID; readlink /proc/self/ns/mnt; until set -- /dev/shm/*; [ $# = 16 ]; do sleep 0.05; done; until [ -e /dev/shm/15 ]; do sleep 0.05; done")
	all := strings.Fields(out)
	if len(all) != 16 || len(slices.Compact(all)) != 1 {
		t.Errorf("16 tasks are in %v", all)
	}
	c.head("srun", "sh", "-c", "rm -f /dev/shm/*")
}

func containersOnTwoNodes(t *testing.T, c *cluster) {
	out := strings.Fields(c.srun("--nodes=2", "--ntasks-per-node=2", "sh", "-c", ". /etc/os-release; echo $ID-$(hostname)"))
	slices.Sort(out)
	if out = slices.Compact(out); len(out) != 2 || !strings.HasPrefix(out[0], "tiny-gpu-dy-p5e-") || out[0] == out[1] {
		t.Errorf("got %v", out)
	}
}

// otherUsersContainer: a job of another user has that user's rights and no more.
func otherUsersContainer(t *testing.T, c *cluster) {
	if err := os.Chmod(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const ask = `id -u; while read a b c; do case $a in CapEff:|CapPrm:|NoNewPrivs:) echo $b;; esac; done </proc/self/status; cat /etc/shadow-of-the-node 2>/dev/null; touch /etc/x 2>/dev/null || echo no`
	user := []string{"setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups"}
	got := c.head(append(user, "srun", "--chdir="+c.dir, "--container-image=./x.sqsh", "sh", "-c", ask)...)
	if want := "1\n0000000000000000\n0000000000000000\n1\nno\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// Neither reads what the other may not.
	c.file("secret", "secret\n")
	if err := os.Chmod(filepath.Join(c.dir, "secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := c.run(append(append([]string{"exec", "--"}, user...), "srun", "--chdir="+c.dir, "--container-image=./x.sqsh", "--container-remap-root",
		"--container-mounts="+c.dir+":/in", "cat", "/in/secret")...)
	if r.code == 0 || strings.Contains(r.stdout, "secret\n") {
		t.Errorf("another user's file was read: %q", r.stdout)
	}
	c.noContainerLeft()
}

// batchInContainer: as with Pyxis, #SBATCH lines put the script into the container.
func batchInContainer(t *testing.T, c *cluster) {
	c.file("inside.sh", `#!/bin/sh
#SBATCH --container-image=./x.sqsh --output=inside.out
#SBATCH --container-mounts=`+c.dir+`:/in
cat /etc/os-release
cat /in/given-to-batch
scontrol show hostnames "$SLURM_JOB_NODELIST"
srun hostname
`)
	c.file("given-to-batch", "mounted\n")
	r := c.run("exec", "--", "sbatch", "--wait", "inside.sh")
	out := c.read("inside.out")
	if r.code != 127 || !strings.Contains(out, "ID=tiny\nmounted\n") {
		t.Errorf("exit code %d\n%s", r.code, out)
	}
	for _, want := range []string{"no srun", "srun --container-image=./x.sqsh --container-mounts=" + c.dir + ":/in COMMAND"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	// The srun form.
	c.file("outside.sh", "#!/bin/sh\n#SBATCH --output=outside.out\nsrun --container-image=./x.sqsh cat /etc/os-release\n")
	c.head("sbatch", "--wait", "outside.sh")
	if got := c.read("outside.out"); got != "ID=tiny\n" {
		t.Errorf("got %q", got)
	}
	c.noContainerLeft()
}

func sallocContainer(t *testing.T, c *cluster) {
	if got := c.head("salloc", "--quiet", "--container-image=./x.sqsh", "srun", "cat", "/etc/os-release"); got != "ID=tiny\n" {
		t.Errorf("got %q", got)
	}
}

// imageWithConfig: an imported image's environment, directory and entrypoint.
func imageWithConfig(t *testing.T, c *cluster) {
	c.layout("oci")
	c.must("image", "import", "oci:"+filepath.Join(c.dir, "oci"), "--name", "conf", "--dir", c.dir)
	const ask = "readlink /proc/self/cwd; echo $FROM_IMAGE $BOTH $FROM_JOB $RANK $LOCAL_RANK $FROM_ENTRYPOINT"
	step := func(options ...string) string {
		t.Helper()
		line := append([]string{"exec", "--", "env", "BOTH=job", "FROM_JOB=job", "srun", "--container-image=./conf.sqsh"}, options...)
		return c.must(append(line, "sh", "-c", ask)...)
	}
	for option, want := range map[string]string{
		"--container-readonly":   "/work\nimage image job 0 0\n",
		"--container-env=BOTH":   "/work\nimage job job 0 0\n",
		"--container-entrypoint": "/work\nimage image job 0 0 yes\n",
	} {
		if got := step(option); got != want {
			t.Errorf("%s: got %q, want %q", option, got, want)
		}
	}
	c.noContainerLeft()
}

// imageOfTheRegistry: what was pushed to the cluster's own registry is imported for
// a step, once for all its nodes and those that follow.
func imageOfTheRegistry(t *testing.T, c *cluster) {
	tree, err := imageTree()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "tree.tar"), tarOf(t, tree), 0o644); err != nil {
		t.Fatal(err)
	}
	c.must("image", "pack", "--tag", "tiny:v1", "--env", "FROM_IMAGE=pushed", "tree.tar")
	for range 2 {
		out := strings.Fields(c.head("srun", "--nodes=2", "--ntasks-per-node=1", "--container-image=10.99.0.1:5000#tiny:v1",
			"sh", "-c", ". /etc/os-release; echo $ID-$FROM_IMAGE-$(hostname)"))
		slices.Sort(out)
		if out = slices.Compact(out); len(out) != 2 || !strings.HasPrefix(out[0], "tiny-pushed-gpu-dy-p5e-") {
			t.Errorf("got %v", out)
		}
	}
	// Another user of root's cluster may read the registry, too.
	if err := os.Chmod(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	user := []string{"setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "env", "HOME=/nonexistent", "srun", "--chdir=/"}
	if got := c.head(append(user, "--container-image=10.99.0.1:5000#tiny:v1", "sh", "-c", "echo $FROM_IMAGE; id -u")...); got != "pushed\n1\n" {
		t.Errorf("another user: %q", got)
	}
	c.noContainerLeft()
	c.refused([]string{"error: muster: failed to import docker image: 10.99.0.1:5000#absent:v1: ", "not found"}, "--container-image=10.99.0.1:5000#absent:v1", "true")
	if got := c.must("image", "import", "10.99.0.1:5000/tiny:v1", "--name", "tiny"); got == "" {
		t.Error("an import says nothing")
	}
	if got := c.head("srun", "--container-image="+imagesOf(c)+"/tiny.sqsh", "cat", "/etc/os-release"); got != "ID=tiny\n" {
		t.Errorf("the imported: %q", got)
	}
}

// imagesOf is the cluster's directory of images.
func imagesOf(c *cluster) string { return strings.TrimSpace(c.head("cat", "/etc/muster/images")) }

func refusesContainers(t *testing.T, c *cluster) {
	c.refused([]string{"error: muster: open ./absent.sqsh: No such file or directory; `muster image list` shows which images there are\n"}, "--container-image=./absent.sqsh", "true")
	meant := imagesOf(c) + "/meant.sqsh"
	c.head("cp", "x.sqsh", meant)
	c.refused([]string{"failed to import docker image: meant: ", "; did you mean " + meant + "?\n"}, "--container-image=meant", "true")
	c.refused([]string{"open /nowhere/meant.sqsh: No such file or directory; did you mean " + meant + "?\n"}, "--container-image=/nowhere/meant.sqsh", "true")
	c.head("rm", meant)
	c.refused([]string{"error: muster: --container-mounts: source path does not exist: /absent"}, "--container-image=./x.sqsh", "--container-mounts=/absent:/in", "true")
	c.refused([]string{"error: muster: --container-mounts: ", "Invalid cross-device link"}, "--container-image=./x.sqsh", "--container-mounts=/home:../home", "true")
	c.refused([]string{"error: muster: ", "save the container", "No such file or directory"}, "--container-image=./x.sqsh", "--container-save=/nosuch/x.sqsh", "true")
	c.file("bad.sqsh", "this is no squashfs file")
	c.refused([]string{"error: muster:", "bad.sqsh"}, "--container-image=./bad.sqsh", "true")
	c.refused([]string{"--container-mounts"}, "--container-image=./x.sqsh", "--container-mounts=relative:/in", "true")
	c.refused([]string{"--container-image", "argument"}, "--container-image=", "true")
	c.refused([]string{"--container-image specified multiple times"}, "--container-image=./x.sqsh", "--container-image=./y.sqsh", "true")
	c.refused([]string{"--container-writable and --container-readonly"}, "--container-image=./x.sqsh", "--container-writable", "--container-readonly", "true")
	c.refused([]string{"unknown namespace 'pid'"}, "--container-image=./x.sqsh", "--container-unshare=pid", "true")
	// Two nodes, sixteen tasks: the reason is said once for each node.
	r := c.run("exec", "--", "srun", "--nodes=2", "--ntasks=16", "--container-image=./absent.sqsh", "true")
	if n := strings.Count(r.stderr, "absent.sqsh"); r.code != 1 || n != 2 || strings.Contains(r.stderr, "spank") {
		t.Errorf("exit code %d, said %d times:\n%s", r.code, n, r.stderr)
	}
	if states := c.head("sinfo", "--noheader", "--format=%T"); strings.Contains(states, "drain") {
		t.Errorf("nodes were drained: %s", states)
	}
}
