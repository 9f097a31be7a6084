//go:build linux

package services

import (
	"cmp"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/slurm/spank"
)

const (
	// Spank is muster's plugin of Slurm's programs.
	Spank     = BinDir + "/" + spank.Name
	mungeDir  = "/run/munge"
	mysqlRun  = "/run/mysqld"
	mysqlData = "/var/lib/mysql"
)

// Programs are what a head node and its nodes run of this machine.
var Programs = []string{
	"/usr/sbin/munged", "/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db", "/usr/sbin/slurmdbd", "/usr/sbin/slurmctld",
	"/usr/sbin/slurmrestd", "/usr/sbin/slurmd", "/usr/bin/scontrol", "/usr/bin/srun", "/usr/bin/sbatch",
	"/usr/bin/nsenter", "/usr/bin/unshare", "/usr/bin/setpriv",
}

// Params say for which cluster the services are.
type Params struct {
	// Dir is a local cluster's run directory as the supervisor sees it. It is empty
	// where the supervisor lives on the head node itself.
	Dir string
	// LogDir has a log of each service; empty is Dir's.
	LogDir string
	// Slurm is where Slurm is installed. The zero value is Debian's.
	Slurm Slurm
	// MariaDB are the database's programs. The zero value is Debian's.
	MariaDB MariaDB
	// Database says that slurmdbd's database is elsewhere, NoAccounting that there is
	// no slurmdbd, or one elsewhere.
	Database, NoAccounting bool
	Address                netip.Addr
	// ControlUser runs Slurm's and MariaDB's daemons, MungeUser munged, RESTUser
	// slurmrestd (which refuses to be either root or Slurm's user).
	ControlUser, MungeUser, RESTUser string
	// Region is the one that the S3 server says it is in.
	Region string
	// UserNamespace is set for a cluster of an ordinary user: every daemon then
	// runs as that user.
	UserNamespace bool
	// Become is the start of a command line that goes on as a user.
	Become func(user string) []string
}

// Slurm is where an installation of Slurm has its parts.
type Slurm struct{ Bin, Sbin, Conf string }

// Debian is where Debian's packages have Slurm, and Official where
// ParallelCluster's machine images have it.
var (
	Debian   = Slurm{Bin: "/usr/bin", Sbin: "/usr/sbin", Conf: SlurmDir}
	Official = Slurm{Bin: "/opt/slurm/bin", Sbin: "/opt/slurm/sbin", Conf: "/opt/slurm/etc"}
)

// MariaDB are the database's programs, whose places differ.
type MariaDB struct {
	Daemon, Install string
	// Load is the library with which a server knows users by the socket's peer: before
	// 10.4.3 that is not built in.
	Load string
}

// BySocket is that library's name.
const BySocket = "auth_socket"

func (p Params) slurm() Slurm { return cmp.Or(p.Slurm, Debian) }

func (p Params) programs() MariaDB {
	return MariaDB{Daemon: cmp.Or(p.MariaDB.Daemon, "/usr/sbin/mariadbd"), Install: cmp.Or(p.MariaDB.Install, "mariadb-install-db"), Load: p.MariaDB.Load}
}

// S3Port and RegistryPort are where the cluster's own S3 server and its registry
// of container images listen on the head node's address. At TLSPort it has the names of
// AWS, which NamesPort tells.
const (
	S3Port       = 9000
	RegistryPort = 5000
	TLSPort      = 443
	NamesPort    = 53
)

// Services are the services of a local cluster's head node in their order.
func Services(p Params) []supervise.Service {
	return []supervise.Service{p.munged(), p.mariadb(), p.slurmdbd(), p.slurmctld(), p.slurmrestd(), p.s3(), p.registry(), p.controller()}
}

// munged is one for all machines of a local cluster, whose nodes see its socket. One for
// each node would cost 1.3 MB and a start each, and gain nothing: when it dies, Slurm's
// programs ask again until the next one is there.
func (p Params) munged() supervise.Service {
	args := append(p.Become(p.MungeUser), "/usr/sbin/munged", "--foreground", "--num-threads=4",
		"--key-file=/etc/munge/munge.key", "--socket="+mungeDir+"/munge.socket.2",
		"--pid-file="+mungeDir+"/munged.pid", "--seed-file="+mungeDir+"/munged.seed")
	if p.UserNamespace {
		// The host's /etc is not the caller's; munged would rather not trust it.
		args = append(args, "--force")
	}
	return p.service(supervise.Service{
		Name: "munged", Args: args, Inside: true,
		Ready: p.unix(mungeDir + "/munge.socket.2"),
	})
}

func (p Params) mariadb() supervise.Service {
	// The folder appears whole, so that a death half-way leaves nothing behind.
	// MariaDB's root may only be reached by the user who runs it.
	setup := `cd ` + mysqlData + ` && [ -d data ] || {
		rm -rf new && mkdir new &&
		"$2" --no-defaults --datadir=` + mysqlData + `/new --auth-root-authentication-method=socket \
			--auth-root-socket-user="$1" --skip-test-db --innodb-log-file-size=8M && mv new data
	}`
	args := append(p.Become(p.ControlUser), p.programs().Daemon, "--no-defaults", "--datadir="+mysqlData+"/data",
		"--socket="+mysqlRun+"/mysqld.sock", "--pid-file="+mysqlRun+"/mysqld.pid", "--skip-networking",
		"--init-file="+p.slurm().Conf+"/mariadb.sql", "--skip-name-resolve", "--performance-schema=OFF",
		"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M", "--innodb-lock-wait-timeout=900",
		"--innodb-flush-log-at-trx-commit=2")
	if load := p.programs().Load; load != "" {
		args = append(args, "--plugin-load-add="+load)
	}
	return p.service(supervise.Service{
		Name: "mariadb", After: []string{"munged"}, Inside: true, Args: args,
		Setup: append(p.Become(p.ControlUser), "/bin/sh", "-c", setup, "setup", p.ControlUser, p.programs().Install),
		Ready: p.unix(mysqlRun + "/mysqld.sock"),
	})
}

// DatabaseSetup is the SQL that MariaDB runs at each start: the database and its
// one user, who is known by the socket's peer and has no password.
func (p Params) DatabaseSetup() string {
	return fmt.Sprintf(`CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS '%[1]s'@'localhost' IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO '%[1]s'@'localhost';
`, sqlText.Replace(p.ControlUser))
}

// sqlText makes a text fit for between single quotes: some users of a domain have
// a backslash in their name.
var sqlText = strings.NewReplacer(`\`, `\\`, `'`, `''`)

func (p Params) slurmdbd() supervise.Service {
	return p.service(supervise.Service{
		Name: "slurmdbd", After: p.after("mariadb", p.Database), Inside: true,
		Args:  append(p.Become(p.ControlUser), p.slurm().Sbin+"/slurmdbd", "-D"),
		Ready: p.tcp(6819),
	})
}

func (p Params) slurmctld() supervise.Service {
	return p.service(supervise.Service{
		Name: "slurmctld", After: p.after("slurmdbd", p.NoAccounting), Inside: true,
		// A slurmctld that was killed may have given IDs to jobs that it did not save.
		Recover: append(p.Become(p.ControlUser), Muster, "fleet", "recover", StateDir),
		Args:    append(p.Become(p.ControlUser), p.slurm().Sbin+"/slurmctld", "-D", "-f", p.slurm().Conf+"/slurm.conf"),
		Ready:   p.tcp(6817),
	})
}

func (p Params) slurmrestd() supervise.Service {
	return p.service(supervise.Service{
		Name: "slurmrestd", After: []string{"slurmctld"}, Inside: true,
		Args:  append(p.Become(p.RESTUser), p.slurm().Sbin+"/slurmrestd", "-a", "rest_auth/local", "unix:"+RESTSocket),
		Env:   []string{"SLURMRESTD_SECURITY=disable_user_check"},
		Ready: p.unix(RESTSocket),
	})
}

func (p Params) s3() supervise.Service {
	args := []string{filepath.Join(p.Dir, "bin", "muster-stand"), "s3", "--root", filepath.Join(p.Dir, "s3"),
		"--listen", netip.AddrPortFrom(p.Address, S3Port).String(), "--credentials", filepath.Join(p.Dir, "etc", "s3", "credentials"), "--region", p.Region,
		"--tls", netip.AddrPortFrom(p.Address, TLSPort).String(), "--names", strconv.Itoa(NamesPort), "--authority", filepath.Join(p.Dir, "etc", "s3", "authority.pem")}
	return p.service(supervise.Service{Name: "s3", Args: args, Ready: p.tcp(S3Port)})
}

func (p Params) registry() supervise.Service {
	accounts := filepath.Join(p.Dir, "etc", "muster")
	args := []string{filepath.Join(p.Dir, "bin", "muster-stand"), "registry", "--root", filepath.Join(p.Dir, "registry"),
		"--listen", netip.AddrPortFrom(p.Address, RegistryPort).String(), "--credentials", filepath.Join(accounts, filepath.Base(RegistryFile)),
		"--reader", filepath.Join(accounts, filepath.Base(ReaderFile))}
	return p.service(supervise.Service{Name: "registry", Args: args, Ready: p.tcp(RegistryPort)})
}

func (p Params) controller() supervise.Service {
	return p.service(supervise.Service{
		Name:  "controller",
		Args:  []string{filepath.Join(p.Dir, "bin", "muster"), "controller", p.Dir},
		Ready: supervise.Probe{Network: "unix", Address: SocketDir + "/muster/controller.sock"},
	})
}

func (p Params) service(s supervise.Service) supervise.Service {
	s.Log = filepath.Join(cmp.Or(p.LogDir, filepath.Join(p.Dir, "log")), s.Name+".log")
	return s
}

// after names the service that another needs: munged where the usual one is not here.
func (p Params) after(service string, elsewhere bool) []string {
	if elsewhere {
		return []string{"munged"}
	}
	return []string{service}
}

// unix is a socket as the supervisor sees it: that of a local cluster has what
// machines see of /run in its own directory.
func (p Params) unix(path string) supervise.Probe {
	if p.Dir != "" {
		path = SocketDir + strings.TrimPrefix(path, "/run")
	}
	return supervise.Probe{Network: "unix", Address: path}
}

func (p Params) tcp(port uint16) supervise.Probe {
	return supervise.Probe{Network: "tcp", Address: netip.AddrPortFrom(p.Address, port).String()}
}
