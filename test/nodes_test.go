package test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const nodesFile = aFile + `  - Name: gpu
    Networking: {SubnetIds: [subnet-12345678]}
    ComputeResources:
    - {Name: p5e, InstanceType: p5e.48xlarge, MinCount: 1, MaxCount: 3}
  - Name: cpu
    Networking: {SubnetIds: [subnet-12345678]}
    ComputeResources:
    - {Name: c6i, InstanceType: c6i.4xlarge, MinCount: 0, MaxCount: 2}
SharedStorage:
- {Name: home, MountDir: /home, StorageType: Efs}
- {Name: data, MountDir: /fsx1, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 1200, DeploymentType: SCRATCH_2}}
`

// Nodes of TestNodes: the first is static.
const (
	first  = "gpu-st-p5e-1"
	second = "gpu-dy-p5e-1"
)

// TestNodes looks at the machines of a cluster from inside. Its file has a /home
// of its own, and the caller works below /home.
func TestNodes(t *testing.T) {
	t.Parallel()
	file := strings.Replace(nodesFile, "  SlurmQueues:", "  SlurmSettings: {EnableMemoryBasedScheduling: true}\n  SlurmQueues:", 1)
	need(t)
	dir, err := os.MkdirTemp("/home", "muster-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := unmade(t, file)
	c.dir = dir
	c.file("cluster.yaml", file)
	c.must("up", "--no-test", "cluster.yaml")
	if n := c.nodes()[first]; n.State != "idle" || n.PID == 0 {
		t.Errorf("the static node after `up`: %+v", n)
	}
	if conf := c.head("scontrol", "show", "config"); !strings.Contains(spaced(conf), "SuspendExcNodes = "+first) {
		t.Error("static nodes may be suspended")
	}
	c.head("srun", "--nodelist="+second, "true")
	c.each(map[string]func(*testing.T, *cluster){
		"is_a_machine_of_its_own":  machineOfItsOwn,
		"ends_with_its_caller":     endsWithItsCaller,
		"hears_interrupts":         hearsInterrupts,
		"shell_has_a_terminal":     shellHasTerminal,
		"top_shows_a_job":          topShowsAJob,
		"makes_no_devices":         makesNoDevices,
		"ticks_with_wall_clock":    ticksWithWallClock,
		"leaves_host_alone":        leavesHostAlone,
		"shares_file_systems":      sharesFileSystems,
		"works_in_callers_folder":  worksInCallersFolder,
		"offers_what_its_type_has": offersWhatItsTypeHas,
		"gpus_are_shared":          gpusAreShared,
		"memory_is_not":            memoryIsNot,
		"another_queue":            anotherQueue,
	})
}

// spaced is a text with each run of blanks as one.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

func machineOfItsOwn(t *testing.T, c *cluster) {
	address := c.nodes()[second].Address
	for script, want := range map[string]string{
		"hostname": second,
		"tr '\\0' ' ' </proc/1/cmdline | grep -o 'muster-node .*' | cut -d' ' -f2": second,
		"echo $(hostname --all-ip-addresses)":                                      address,
		"ls /sys/class/net | sort | xargs":                                         "ens5 lo",
		"getent hosts " + first + " | awk '{print $1}'":                            c.nodes()[first].Address,
		"getent hosts cpu-dy-c6i-2 | awk '{print $1}'":                             c.nodes()["cpu-dy-c6i-2"].Address,
		"getent hosts whole-head | awk '{print $1}'":                               "10.99.0.1",
		"echo x 2>&1 >/proc/sys/kernel/hostname | grep -o 'Read-only file system'": "Read-only file system",
		"find /dev -type b": "",
	} {
		if r := c.node(second, script); strings.TrimSpace(r.stdout) != want {
			t.Errorf("%s: got %q, want %q\n%s", script, r.stdout, want, r.stderr)
		}
	}
}

// A node's uptime is its own, and its seconds end with those of the wall clock:
// slurmctld reckons in whole seconds of both.
func ticksWithWallClock(t *testing.T, c *cluster) {
	late := 1.0 // of several looks the shortest, because a look takes its time
	for range 5 {
		in := c.head("srun", "--nodelist="+second, "sh", "-c", "read -r up _ </proc/uptime; date +%N; echo $up")
		var wall, up float64
		if _, err := fmt.Sscan(in, &wall, &up); err != nil || up > 600 {
			t.Fatalf("%v: %q", err, in)
		}
		late = min(late, math.Mod(wall/1e9-up+1000, 1))
	}
	if late > 0.2 {
		t.Errorf("the second of the uptime began %.2f s before the wall clock's", late)
	}
}

// A job of root's cannot make a way to the host's disks.
func makesNoDevices(t *testing.T, c *cluster) {
	r := c.run("exec", "--", "srun", "--nodelist="+second, "mknod", "/tmp/disk", "b", "8", "0")
	if r.code == 0 || !strings.Contains(r.stderr, "Operation not permitted") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}

// What is written outside the cluster's mounts reaches neither the host nor
// another machine.
func leavesHostAlone(t *testing.T, c *cluster) {
	paths := []string{"/usr/bin", "/usr/local/lib", "/etc", "/var/lib", "/var/tmp", "/root", "/tmp", "/opt", "/run", "/srv"}
	name := "muster-trace-" + fmt.Sprint(os.Getpid())
	for _, dir := range paths {
		file := filepath.Join(dir, name)
		if r := c.node(second, "echo x >"+file+" && cat "+file); r.stdout != "x\n" {
			t.Errorf("write %s: %s%s", file, r.stdout, r.stderr)
		}
		if _, err := os.Lstat(file); err == nil {
			t.Errorf("%s is on the host", file)
			_ = os.Remove(file)
		}
		if r := c.node(first, "ls "+file); r.code == 0 {
			t.Errorf("%s is on another node", file)
		}
	}
	if r := c.node(second, "rm /usr/bin/yes && echo y >>/etc/passwd"); r.code != 0 {
		t.Errorf("change the node's own files: %s", r.stderr)
	}
	if _, err := os.Stat("/usr/bin/yes"); err != nil {
		t.Errorf("the host lost a program: %v", err)
	}
}

func sharesFileSystems(t *testing.T, c *cluster) {
	for _, dir := range []string{"/fsx1", "/home"} {
		if r := c.node(first, "hostname >"+dir+"/from-first"); r.code != 0 {
			t.Fatal(r.stderr)
		}
		if r := c.node(second, "cat "+dir+"/from-first"); r.stdout != first+"\n" {
			t.Errorf("%s on another node: %q %s", dir, r.stdout, r.stderr)
		}
		if out := c.head("cat", dir+"/from-first"); out != first+"\n" {
			t.Errorf("%s on the head node: %q", dir, out)
		}
		data, err := os.ReadFile(c.path("shared", strings.TrimPrefix(dir, "/"), "from-first"))
		if err != nil || string(data) != first+"\n" {
			t.Errorf("%s on the host: %q, %v", dir, data, err)
		}
	}
	if _, err := os.Stat("/home/from-first"); err == nil {
		t.Error("the cluster's /home is the host's")
	}
}

func worksInCallersFolder(t *testing.T, c *cluster) {
	c.file("here", "yes")
	out := c.head("srun", "--nodes=2", "--nodelist="+first+","+second, "sh", "-c", "echo $(pwd) $(cat here); touch from-$(hostname)")
	if want := strings.Repeat(c.dir+" yes\n", 2); out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	for _, n := range []string{first, second} {
		if _, err := os.Stat(filepath.Join(c.dir, "from-"+n)); err != nil {
			t.Error(err)
		}
	}
}

func offersWhatItsTypeHas(t *testing.T, c *cluster) {
	shown := spaced(c.head("scontrol", "show", "node", second))
	for _, want := range []string{"CPUTot=192", "RealMemory=1992294", "Gres=gpu:h200:8", "NodeHostName=" + second} {
		if !strings.Contains(shown, want) {
			t.Errorf("scontrol show node lacks %s: %s", want, shown)
		}
	}
}

// gpus submits a job that holds GPUs of one node, and returns it with their numbers.
func (c *cluster) gpus(name string, count int) (*held, []string) {
	c.t.Helper()
	h := c.submit(name, "--nodelist="+second, "--mem=1G", fmt.Sprintf("--gpus=%d", count))
	h.runs(0)
	out := c.head("srun", "--overlap", "--jobid="+h.id, fmt.Sprintf("--gpus=%d", count), "printenv", "CUDA_VISIBLE_DEVICES")
	return h, strings.Split(strings.TrimSpace(out), ",")
}

// Jobs of 4+4 and of 2+3+3 GPUs share a node and have no GPU in common.
func gpusAreShared(t *testing.T, c *cluster) {
	for _, counts := range [][]int{{4, 4}, {2, 3, 3}} {
		var all []string
		var jobs []*held
		for i, n := range counts {
			h, mine := c.gpus(fmt.Sprintf("gpus-%d-%d", len(counts), i), n)
			if len(mine) != n {
				t.Errorf("a job of %d GPUs sees %v", n, mine)
			}
			all, jobs = append(all, mine...), append(jobs, h)
		}
		slices.Sort(all)
		if got := strings.Join(slices.Compact(all), " "); got != "0 1 2 3 4 5 6 7" {
			t.Errorf("jobs of %v GPUs: %s", counts, got)
		}
		if n := c.nodes()[second]; n.PID == 0 {
			t.Errorf("the node: %+v", n)
		}
		for _, h := range jobs {
			h.lives()
		}
	}
}

// Two jobs of 60 % of a node's memory do not share it.
func memoryIsNot(t *testing.T, c *cluster) {
	one := c.submit("much-1", "--partition=gpu", "--mem=1200000")
	other := c.submit("much-2", "--partition=gpu", "--mem=1200000")
	one.runs(0)
	other.runs(0)
	if a, b := c.show(one.id).Nodes, c.show(other.id).Nodes; a[0] == b[0] {
		t.Errorf("both run on %v", a)
	}
	one.lives()
	other.lives()
}

func anotherQueue(t *testing.T, c *cluster) {
	out := c.head("srun", "--partition=cpu", "--nodes=2", "sh", "-c", "hostname; echo $SLURM_CPUS_ON_NODE >/dev/null")
	lines := strings.Fields(out)
	slices.Sort(lines)
	if strings.Join(lines, " ") != "cpu-dy-c6i-1 cpu-dy-c6i-2" {
		t.Errorf("got %q", out)
	}
	if shown := c.head("scontrol", "show", "node", "cpu-dy-c6i-1"); !strings.Contains(shown, "CPUTot=16") || strings.Contains(shown, "gpu:") {
		t.Errorf("the second queue's node: %s", shown)
	}
	r := c.run("exec", "--", "srun", "--partition=cpu", "--gpus=1", "true")
	if r.code == 0 {
		t.Error("a queue without GPUs gave one")
	}
}
