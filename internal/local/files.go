package local

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/slurm/spank"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/own"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// owners are the users that the daemons run as.
type owners struct{ control, munge, rest string }

// daemons are Debian's users for a cluster of root's, and the caller for one of
// an ordinary user.
func daemons(l *nodes.Layout, caller string) owners {
	if l.Rootless {
		return owners{caller, caller, caller}
	}
	return owners{"slurm", "munge", "daemon"}
}

// directory is a directory of the run directory.
type directory struct {
	path  string
	mode  os.FileMode
	owner string // empty is the caller
}

// runDirectories are all directories, each after the one that has it. Users of this
// machine who are not the cluster's cannot reach its jobs' files, sockets, its cluster
// file or logs: machines mount the parts that they need, with modes for the cluster's
// users, and need no path to them. Logs are opened for the daemons.
func runDirectories(l *nodes.Layout, o owners) []directory {
	return []directory{
		{"", 0o711, ""}, {"bin", 0o755, ""}, {"etc", 0o700, ""}, {"etc/slurm", 0o755, ""}, {"etc/slurm/gpu", 0o755, ""},
		{"etc/munge", 0o700, o.munge}, {"etc/aws", 0o755, ""}, {"etc/muster", 0o755, ""}, {"etc/s3", 0o700, ""}, {"etc/ssh", 0o755, ""},
		{"log", 0o700, ""}, {"log/nodes", 0o755, ""}, {"mnt", 0o755, ""}, {"nodes", 0o700, ""},
		{"nodes/head", 0o711, ""}, {"nodes/head/tmp", 0o777 | os.ModeSticky, ""}, {"nodes/head/scratch", 0o777 | os.ModeSticky, ""},
		{"run", 0o755, ""}, {services.SocketDir, 0o700, ""}, {sockets("munge"), 0o755, o.munge}, {sockets("ssh"), 0o755, ""},
		{sockets("mysqld"), 0o755, o.control}, {sockets("muster"), 0o755, ""}, {sockets("muster", "rest"), 0o755, o.rest},
		{"s3", 0o700, ""}, {"registry", 0o700, ""}, {"links", 0o700, ""}, {"shared", 0o700, ""}, {"state", 0o755, ""},
		{"state/slurmctld", 0o700, o.control}, {"state/mysql", 0o700, o.control},
	}
}

// sockets is the folder of the run directory that has what machines see below /run.
func sockets(elem ...string) string {
	return filepath.Join(append([]string{services.SocketDir}, elem...)...)
}

// file is a file of the run directory that is written anew by each `up`.
type file struct {
	path  string
	text  string
	mode  os.FileMode
	owner string
	// once files are secrets that live as long as the cluster.
	once bool
	// inPlace files are mounted into machines one by one, so they must stay the
	// same file.
	inPlace bool
}

func (f file) write(l *nodes.Layout) (changed bool, err error) {
	path := l.Path(f.path)
	old, err := readOwn(path)
	if err == nil && (f.once || string(old) == f.text) {
		return false, own.Give(path, f.owner, f.mode)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if f.inPlace && err == nil {
		err = writeOwn(path, []byte(f.text))
	} else {
		err = whole.Write(path, []byte(f.text), f.mode)
	}
	if err != nil {
		return false, err
	}
	return true, own.Give(path, f.owner, f.mode)
}

// readOwn reads a file that is no link.
func readOwn(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// writeOwn changes a file that is there and no link.
func writeOwn(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// config is everything that a cluster's files are made from.
type config struct {
	layout    *nodes.Layout
	record    nodes.Record
	file      *spec.Cluster
	addresses map[string]netip.Addr
	owners    owners
	params    services.Params
	slurm     slurm.Config
	version   string // Slurm's
	// pyxis is the path of Pyxis's plugin, empty where muster's own is used.
	pyxis string
}

func newConfig(l *nodes.Layout, r nodes.Record, c *spec.Cluster, w *spec.Workload) (config, error) {
	have, err := l.Addresses()
	if err != nil {
		return config{}, err
	}
	cfg := config{layout: l, record: r, file: c, owners: daemons(l, r.User), pyxis: spank.Pyxis()}
	cfg.addresses, err = plan.Addresses(plan.NodeNames(c), have, plan.Range{First: nodes.FirstNodeAddress, Last: nodes.LastNodeAddress})
	if err != nil {
		return config{}, err
	}
	cfg.params = services.Params{
		Dir: l.Dir, Address: nodes.HeadAddress, ControlUser: cfg.owners.control, MungeUser: cfg.owners.munge,
		RESTUser: cfg.owners.rest, UserNamespace: l.Rootless, Become: l.Become,
		Region: r.Region,
	}
	nodeUser := "root"
	if l.Rootless {
		nodeUser = r.User
	}
	cfg.version, err = slurm.Version("/usr/sbin/slurmd")
	if err != nil {
		return config{}, err
	}
	cfg.slurm = services.Place(plan.Config(c, w, cfg.addresses), cfg.params)
	cfg.slurm.Cluster, cfg.slurm.HeadName, cfg.slurm.NodeUser = strings.ToLower(r.Name), r.HeadName, nodeUser
	cfg.slurm.GPUFile, cfg.slurm.Timers = services.GPUDir+"/gpu", slurm.LocalTimers().BurningIn(w.BurnInLimit(), spec.BurnInEnds)
	cfg.slurm.FirstJobID, cfg.slurm.RebootProgram = nextJob(l), services.RebootProgram
	cfg.slurm.NodeHealth, cfg.slurm.NodeProlog = services.NodeHealth, services.NodeProlog
	cfg.slurm.CgroupPlugin = slurm.NoCgroups(cfg.version)
	return cfg, nil
}

func (c config) files(source, workload []byte) ([]file, error) {
	// Users of root's clusters run each other's images; another's cluster is his alone.
	readers := os.FileMode(0o644)
	if c.layout.Rootless {
		readers = 0o600
	}
	credentials := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", strings.ToUpper(secret(10)), secret(20))
	names, err := c.nameFiles()
	if err != nil {
		return nil, err
	}
	shells, err := c.sshFiles()
	if err != nil {
		return nil, err
	}
	all := append(append(names, shells...), []file{
		{path: "cluster.yaml", text: string(source), mode: 0o600},
		{path: "muster.yaml", text: string(workload), mode: 0o600},
		{path: "etc/hosts", text: nodes.Hosts(c.record.HeadName, c.addresses), mode: 0o644, inPlace: true},
		{path: "etc/munge/munge.key", text: secret(128), mode: 0o600, owner: c.owners.munge, once: true},
		{path: "etc/s3/credentials", text: credentials, mode: 0o600, once: true},
		{path: "etc/muster/registry.json", text: registryAccount("muster"), mode: 0o600, once: true},
		{path: "etc/muster/registry-reader.json", text: registryAccount("reader"), mode: readers, once: true},
		{path: "etc/muster/cluster.yaml", text: string(source), mode: 0o644},
		{path: "etc/muster/muster.yaml", text: string(workload), mode: 0o644},
		dfFile(c.file),
		{path: runPath(services.NodeHealth), text: services.HealthScript(healthOptions(c.file)...), mode: 0o755},
		{path: runPath(services.NodeProlog), text: services.PrologScript("", healthOptions(c.file)...), mode: 0o755},
		{path: runPath(services.RebootProgram), text: nodes.RebootProgram, mode: 0o755},
		{path: "etc/muster/images", text: services.ImageDir(c.file) + "\n", mode: 0o644},
	}...)
	for _, f := range services.Files(c.slurm, c.stack(), c.params) {
		all = append(all, file{path: runPath(f.Path), text: f.Text, mode: f.Mode, owner: f.Owner})
	}
	return all, nil
}

// healthOptions have nodes look at the file systems that they share. Their own disk is this machine's, which all of them have.
func healthOptions(c *spec.Cluster) (options []string) {
	for _, s := range withHome(c) {
		options = append(options, "--mount", s.MountDir)
	}
	return options
}

// runPath is where the run directory has a file of the head node.
func runPath(path string) string {
	if rest, ok := strings.CutPrefix(path, services.BinDir); ok {
		return "bin" + rest
	}
	return strings.TrimPrefix(path, "/")
}

// secret is a random text that carries bytes of randomness.
func secret(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// linkGPUs makes the files that stand for GPUs in gres.conf. Slurm counts
// them; nothing opens them.
func (c config) linkGPUs() error {
	most := 0
	for _, g := range c.slurm.Groups {
		most = max(most, g.GPUs)
	}
	for i := range most {
		err := os.Symlink(os.DevNull, c.layout.Path("etc", "slurm", "gpu", "gpu"+strconv.Itoa(i)))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// installPrograms gives the cluster its own copy of muster, so that a new build
// does not change one that runs, and tells whether that is another than before.
func installPrograms(l *nodes.Layout) (changed bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	stand := filepath.Join(filepath.Dir(self), "muster-stand")
	if _, err := os.Stat(stand); err != nil {
		return false, fmt.Errorf("find muster-stand, the local S3 server, beside %s: %w; `make` builds both", self, err)
	}
	for name, from := range map[string]string{"muster": self, "muster-stand": stand} {
		other, err := install(from, l.Path("bin", name))
		if err != nil {
			return changed, fmt.Errorf("install %s: %w", name, err)
		}
		changed = changed || other
	}
	return changed, nil
}

// install makes a program appear whole, as a link where that is possible.
func install(from, to string) (changed bool, err error) {
	source, err := os.Stat(from)
	if err != nil {
		return false, err
	}
	if have, err := os.Stat(to); err == nil && have.Size() == source.Size() && have.ModTime().Equal(source.ModTime()) {
		return false, nil
	}
	beside := to + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if err := os.Link(from, beside); err != nil {
		return true, copyProgram(from, to, source.ModTime())
	}
	return true, whole.Rename(beside, to)
}

func copyProgram(from, to string, when time.Time) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return whole.Make(to, nil, func(beside *os.File) error {
		_, err := io.Copy(beside, in)
		return errors.Join(err, beside.Chmod(0o755), os.Chtimes(beside.Name(), when, when))
	})
}

// newRecord is the record of a cluster that is made or changed now.
func newRecord(l *nodes.Layout, name, source, workDir string, c *spec.Cluster, w *spec.Workload) (nodes.Record, error) {
	u, err := user.Current()
	if err != nil {
		return nodes.Record{}, fmt.Errorf("look up the caller: %w", err)
	}
	r := nodes.Record{
		Name: name, Created: time.Now(), File: spec.Lasting(source), UID: l.UID, GID: l.GID, User: u.Username,
		HeadName: strings.ToLower(name) + "-head", ScratchDirs: c.ScratchDirs(), EFA: efaNodes(c), BurnIn: burnInNodes(c, w),
		ImageUser: c.DefaultUser(), Files: sudoFiles(l), Region: s3Region(c),
	}
	r.Shared, err = sharedMounts(l, u, workDir, c)
	r.HeadOnly = []nodes.Mount{
		{Source: l.Path("etc", "munge"), Target: "/etc/munge", ReadOnly: true},
		{Source: l.Path(sockets("muster")), Target: services.RunDir},
		{Source: l.Path(sockets("mysqld")), Target: "/run/mysqld"},
		{Source: l.Path("state", "mysql"), Target: "/var/lib/mysql"},
		{Source: l.Path("state", "slurmctld"), Target: services.StateDir},
	}
	return r, err
}
