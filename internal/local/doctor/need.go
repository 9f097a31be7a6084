package doctor

// need is a Debian package and what clusters use of it.
type need struct {
	pkg, group string
	// programs must be found in the PATH or a folder for administrators.
	programs []string
	// files are patterns, each of which must match a file.
	files []string
	// what says what the package is for.
	what string
	// optional says that clusters come up without it.
	optional bool
}

// plugins is where Debian, and a Slurm built by hand, keep Slurm's plugins.
const plugins = "/usr/{lib/*/slurm-wlm,lib/slurm-wlm,lib64/slurm,lib/slurm,lib/*/slurm}/"

var allNeeds = []need{
	{pkg: "slurmctld", group: Local, programs: []string{"slurmctld"}, what: "Slurm's controller"},
	{pkg: "slurmd", group: Local, programs: []string{"slurmd", "slurmstepd"}, what: "Slurm's node daemon"},
	{pkg: "slurmdbd", group: Local, programs: []string{"slurmdbd"}, what: "Slurm's accounting daemon"},
	{pkg: "slurm-wlm-mysql-plugin", group: Local, files: []string{plugins + "accounting_storage_mysql.so"}, what: "accounting in MariaDB"},
	{pkg: "slurmrestd", group: Local, programs: []string{"slurmrestd"}, what: "Slurm's REST daemon"},
	{pkg: "slurm-client", group: Local, programs: []string{"sbatch", "srun", "squeue", "sinfo", "scancel", "scontrol", "sacct", "sacctmgr"}, what: "Slurm's commands"},
	{pkg: "slurm-wlm-basic-plugins", group: Local, files: []string{plugins + "auth_munge.so", plugins + "accounting_storage_slurmdbd.so", plugins + "select_cons_tres.so"}, what: "Slurm's plugins"},
	{pkg: "munge", group: Local, programs: []string{"munged", "mungekey"}, what: "authentication between nodes"},
	{pkg: "mariadb-server-core", group: Local, programs: []string{"mariadbd", "mariadb-install-db"}, what: "the accounting database"},
	{pkg: "mariadb-client-core", group: Local, programs: []string{"my_print_defaults"}, what: "setting up the accounting database"},
	{pkg: "util-linux", group: Local, programs: []string{"setpriv", "nsenter", "unshare"}, what: "entering nodes"},
	{pkg: "mount", group: Local, programs: []string{"mount"}, what: "file systems of nodes"},
	{pkg: "gcc", group: Local, programs: []string{"cc"}, what: "building Slurm's plugin for containers"},
	{pkg: "libc6-dev", group: Local, files: []string{"/usr/include/stdio.h"}, what: "building Slurm's plugin for containers"},
	{pkg: "libslurm-dev", group: Local, files: []string{"/usr/{include,local/include}/slurm/spank.h"}, what: "building Slurm's plugin for containers"},
	{pkg: "squashfuse", group: Local, programs: []string{"squashfuse"}, what: "containers' images"},
	{pkg: "squashfs-tools", group: Local, programs: []string{"mksquashfs", "unsquashfs"}, what: "saving containers"},
	// Slurm loads libpmix.so, a link that comes with the headers, and not libpmix.so.2.
	{pkg: "libpmix-dev", group: Local, files: []string{"/usr/{lib/*,lib64,lib,local/lib}/libpmix.so"}, what: "srun --mpi=pmix, by which MPI programs start", optional: true},
	{pkg: "openssh-server", group: Local, programs: []string{"sshd"}, what: "SSH between machines of a cluster, for mpirun, pdsh and editors", optional: true},
	{pkg: "mmdebstrap", group: Demo, programs: []string{"mmdebstrap"}, what: "the image of muster demo --whole"},
	{pkg: "uidmap", group: Demo, programs: []string{"newuidmap"}, what: "making that image as an ordinary user"},
}

// users are the users that Debian's packages make, with the package.
var users = []struct{ name, pkg string }{
	{"slurm", "slurm-wlm-basic-plugins"},
	{"munge", "munge"},
}

// daemons are the services whose packages we install. Where the system runs one
// of them already, local clusters do not touch it.
var daemons = []string{"munged", "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "mariadbd", "mysqld"}

// units are their names for the service manager.
var units = []string{"munge", "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "mariadb", "mysql"}
