package test

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// ordinary is a cluster of an ordinary user's who has no privileges and no group
// but one.
func ordinary(t *testing.T, file string) *cluster {
	t.Helper()
	need(t)
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	top, err := os.MkdirTemp("", "muster-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	dirs := []string{top, filepath.Join(top, "home"), filepath.Join(top, "work")}
	for _, d := range dirs {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	c := unmade(t, file)
	c.home, c.dir = dirs[1], dirs[2]
	c.become = []string{
		"setpriv", "--reuid=" + nobody.Uid, "--regid=" + nobody.Gid, "--clear-groups",
		"env", "HOME=" + top, "USER=nobody", "LOGNAME=nobody",
	}
	c.file("cluster.yaml", file)
	return c
}

// TestOrdinaryUser goes through a cluster's life without privileges.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	// A setting of his own has slurmctld try the configuration, as him.
	file := strings.Replace(fileOf(3)+dataFile, "  Scheduler: slurm\n", "  Scheduler: slurm\n  SlurmSettings: {CustomSlurmSettings: [{MaxJobCount: 5000}]}\n", 1)
	c := ordinary(t, file)
	c.must("up", "cluster.yaml")
	c.each(map[string]func(*testing.T, *cluster){
		"runs_jobs_as_the_user":  runsJobsAsTheUser,
		"ends_with_its_caller":   endsWithItsCaller,
		"node_is_killed":         nodeIsKilled,
		"controller_is_killed":   controllerIsKilled,
		"leaves_host_alone":      userLeavesHostAlone,
		"all_processes_are_his":  allProcessesAreHis,
		"accounts":               accounts,
		"answers_rest":           answersREST,
		"exports":                userExports,
		"debian_finds_s3":        debianClientFindsS3,
		"datasets":               datasets,
		"secrets":                userSecrets,
		"cleans":                 cleans,
		"carries_what_is_active": jobHasWhatIsActive,
		"image_user_is_owner":    imageUserIsOwner,
		"df_shows_mounts":        dfShowsFileSystems,
		"ssh_between_machines":   sshBetweenMachines,
		"finds_later_programs":   findsWhatIsInstalledLater,
		"slurm_as_in_production": slurmAsInProduction,
	})
	c.must("down", "--delete-data", "--yes")
	c.nothingLeft()
}

func runsJobsAsTheUser(t *testing.T, c *cluster) {
	out := strings.Fields(c.head("srun", "--nodes=2", "--exclusive", "sh", "-c", "echo $(hostname):$(id -un); echo x >from-$(hostname)"))
	slices.Sort(out)
	if len(out) != 2 || out[0] == out[1] || !strings.HasSuffix(out[0], ":nobody") || !strings.HasSuffix(out[1], ":nobody") {
		t.Errorf("got %v", out)
	}
	for _, line := range out {
		node, _, _ := strings.Cut(line, ":")
		info, err := os.Stat(filepath.Join(c.dir, "from-"+node))
		if err != nil {
			t.Error(err)
			continue
		}
		work, err := os.Stat(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := info.Sys().(*syscall.Stat_t).Uid, work.Sys().(*syscall.Stat_t).Uid; got != want {
			t.Errorf("what the job wrote belongs to user %d, not %d", got, want)
		}
	}
}

func userLeavesHostAlone(t *testing.T, c *cluster) {
	name := "muster-trace-user-" + strconv.Itoa(os.Getpid())
	out := c.head("srun", "sh", "-c", "for d in /tmp /var/tmp /dev/shm; do echo x >$d/"+name+" && echo $d; done; touch /usr/bin/"+name+" 2>/dev/null; true")
	if out != "/tmp\n/var/tmp\n/dev/shm\n" {
		t.Errorf("a job can write %q", out)
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/usr/bin"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s/%s is on the host", dir, name)
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
}

// allProcessesAreHis: none of the cluster's processes has another user's rights.
func allProcessesAreHis(t *testing.T, c *cluster) {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	all := c.processes()
	if len(all) < 8 {
		t.Errorf("there are only %d processes", len(all))
	}
	want := "Uid:\t" + strings.Repeat(nobody.Uid+"\t", 3) + nobody.Uid + "\n" // real, effective, saved, file system
	for _, p := range all {
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "status"))
		if err != nil {
			continue // it has ended
		}
		if !strings.Contains(string(status), want) {
			t.Errorf("process %d (%s) is not the user's", p.pid, p.name)
		}
	}
}

func userExports(t *testing.T, c *cluster) {
	c.head("srun", "mkdir", "-p", "/fsx2/small/checkpoints")
	exportsFiles(t, c)
}
