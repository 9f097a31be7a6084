package test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/test/soak"
)

// clientsVenv has the clients as `make python` installs them. Nodes see no such folder: each test has a copy.
const clientsVenv = "../bin/clients"

// clients are programs for Slurm, and for S3, that nobody here wrote, and what each of them prints at its end.
var clients = map[string]struct{ line, want string }{
	"submitit":      {"python submitit_jobs.py", "slurm 3 [11, 22]\nfailed True\n"},
	"dask_jobqueue": {"python dask_workers.py", "2 285\n"},
	"parsl":         {"python parsl_blocks.py", "nodes 2\n"},
	"s3":            {"bash s3_clients.sh", s3Clients},
	"mpi4py":        {"srun --mpi=pmix --nodes=2 --ntasks=4 python mpi_ranks.py", "4 10 2\n"},
	"snakemake": {"snakemake --quiet all --executor slurm --slurm-no-account --jobs 2 --default-resources slurm_partition=gpu runtime=10 " +
		"--seconds-between-status-checks 1 --slurm-init-seconds-before-status-checks 1 && cat all.txt", "a 0\nb none\n"},
}

// s3Clients is what those of S3 print, which find it by its names and by the endpoint that new ones are told.
const s3Clients = `make_bucket: from-pypi
virtual 100000 https://s3.us-east-1.amazonaws.com
virtual 100000 http://10.99.0.1:9000
path 100000 https://s3.us-east-1.amazonaws.com
path 100000 http://10.99.0.1:9000
cp s3_clients.py s3://from-pypi/client.py
client.py
client.py
`

// TestForeignClients has them all on one cluster at once, as users do. They wait for their jobs, and for themselves.
func TestForeignClients(t *testing.T) {
	t.Parallel()
	needFiles(t, clientsVenv+"/made", "/usr/bin/mpirun")
	c := newCluster(t, fileOf(3))
	runsClients(c)
}

// TestSoak_foreign_clients_of_an_ordinary_user: the same, without privileges.
func TestSoak_foreign_clients_of_an_ordinary_user(t *testing.T) {
	soak.Only(t, "the clients of TestForeignClients once more, which compute for long")
	t.Parallel()
	needFiles(t, clientsVenv+"/made", "/usr/bin/mpirun")
	c := ordinary(t, fileOf(3))
	c.must("up", "--no-test", "cluster.yaml")
	runsClients(c)
}

// needFiles skips a test where `make` could not install what it uses. In CI it fails.
func needFiles(t *testing.T, files ...string) {
	t.Helper()
	need(t)
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatalf("this machine lacks %s", file)
		}
		t.Skipf("this machine lacks %s", file)
	}
}

// runsClients runs each client in a folder of its own, from a venv that is active where muster is called.
func runsClients(c *cluster) {
	c.t.Helper()
	c.copyVenv(clientsVenv, "venv")
	c.copyScripts("clients")
	outs := map[string]*bytes.Buffer{}
	ends := map[string]error{}
	var all sync.WaitGroup
	var mu sync.Mutex // guards ends
	for name, client := range clients {
		out, cmd := &bytes.Buffer{}, c.typed(". venv/bin/activate && mkdir "+name+" && cp scripts/* "+name+" && cd "+name+
			" && muster exec -- bash -c '"+client.line+"'")
		cmd.Stdout, cmd.Stderr, outs[name] = out, out, out
		all.Go(func() {
			err := cmd.Run()
			mu.Lock()
			defer mu.Unlock()
			ends[name] = err
		})
	}
	all.Wait()
	for name, client := range clients {
		c.t.Run(name, func(t *testing.T) {
			if got := outs[name].String(); ends[name] != nil || !strings.HasSuffix(got, client.want) {
				t.Errorf("%v, want %q at the end of\n%s", ends[name], client.want, got)
			}
		})
	}
}

// copyVenv copies a venv into the working directory: by links where that is on the same disk, as it may have gigabytes. Its programs
// name its place.
func (c *cluster) copyVenv(from, to string) {
	c.t.Helper()
	was, err := filepath.Abs(from)
	if err != nil {
		c.t.Fatal(err)
	}
	venv := filepath.Join(c.dir, to)
	if _, err := copied("--link", was, venv); err != nil {
		if out, err := copied("--preserve=mode,timestamps,links", was, venv); err != nil {
			c.t.Fatalf("cp %s: %v\n%s", from, err, out)
		}
	}
	programs, _ := filepath.Glob(filepath.Join(venv, "bin", "*"))
	for _, file := range append(programs, filepath.Join(venv, "pyvenv.cfg")) {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(was)) {
			continue // a folder, or nothing that names the venv
		}
		if err := os.Remove(file); err != nil { // and not what it is a link to
			c.t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(was), []byte(venv)), 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
}

// copyScripts copies a folder of scripts into the working directory.
func (c *cluster) copyScripts(from string) {
	c.t.Helper()
	if out, err := copied("--preserve=mode", from, filepath.Join(c.dir, "scripts")); err != nil {
		c.t.Fatalf("cp %s: %v\n%s", from, err, out)
	}
}

func copied(how, from, to string) ([]byte, error) {
	return exec.Command("cp", "--recursive", "--no-dereference", "--no-target-directory", how, from, to).CombinedOutput()
}
