package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services/ssh"
)

const (
	// sshAuthority is the key by which users are known. Machines do not see it.
	sshAuthority = "etc/ssh-authority.pem"
	// sshHere is SSH's configuration for this machine's users.
	sshHere = "etc/ssh-here"
)

// Services of the head node that its controller leads to from outside.
const (
	sshService      = "ssh"
	registryService = "registry"
	s3Service       = "s3"
)

// Doors are their addresses.
func Doors() map[string]string {
	return map[string]string{
		sshService: net.JoinHostPort(nodes.HeadAddress.String(), "22"), registryService: RegistryAddress(), s3Service: s3Address(),
	}
}

// SSHInstalled tells whether this machine has SSH's server, which `muster doctor` offers.
func SSHInstalled() bool {
	_, err := os.Stat(ssh.Server)
	return err == nil
}

// sshMounts show every machine the cluster's SSH in place of the host's.
func sshMounts(l *nodes.Layout) []nodes.Mount {
	return []nodes.Mount{
		{Source: l.Path("etc", "ssh"), Target: ssh.Dir, ReadOnly: true},
		{Source: l.Path("etc", "ssh", ssh.PAMFile), Target: ssh.PAMPath, ReadOnly: true},
		{Source: l.Path(sockets("ssh")), Target: ssh.AgentDir},
	}
}

// sshFiles are what sshMounts show.
func (c config) sshFiles() ([]file, error) {
	hostPath := "etc/ssh/" + ssh.HostFile
	host, err := madeOnce(c.layout, hostPath, ssh.HostKey)
	if err != nil {
		return nil, err
	}
	private, err := madeOnce(c.layout, sshAuthority, ssh.NewAuthority)
	if err != nil {
		return nil, err
	}
	hostLine, err := ssh.HostLine(host)
	if err != nil {
		return nil, err
	}
	users, err := ssh.ReadAuthority(private)
	if err != nil {
		return nil, err
	}
	files := []file{
		{path: hostPath, text: string(host), mode: 0o600, once: true},
		{path: sshAuthority, text: string(private), mode: 0o600, once: true},
		{path: sshHere, text: c.sshHere(), mode: 0o644},
	}
	environment := append([]string{"PATH=" + strings.Join(SystemPath(), ":")}, ownVariables()...)
	for name, text := range ssh.Files(hostLine, users, environment) {
		files = append(files, file{path: "etc/ssh/" + name, text: text, mode: 0o644, inPlace: name == ssh.PAMFile})
	}
	return files, nil
}

// madeOnce is a secret that is made once.
func madeOnce(l *nodes.Layout, path string, make func() ([]byte, error)) ([]byte, error) {
	have, err := readOwn(l.Path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return make()
	}
	return have, err
}

// sshHere leads SSH's clients of this machine to the head node.
func (c config) sshHere() string {
	at := func(elem ...string) string {
		return `"` + strings.ReplaceAll(c.layout.Path(elem...), "%", "%%") + `"`
	}
	return fmt.Sprintf(`Host %s
  HostName %s
  User %s
  ProxyCommand %s agent connect %s %s
  IdentityAgent %s
  UserKnownHostsFile %s
  StrictHostKeyChecking yes
  UpdateHostKeys no
`, sshName(c.record.Name), c.record.HeadName, c.record.User, at("bin", "muster"), at(), sshService, at(sockets("ssh"), "agent"), at("etc", "ssh", ssh.KnownFile))
}

// sshName is what a cluster's head node is called for SSH.
func sshName(name string) string { return "muster-" + name }

// sshLine is the command line that logs in to the head node.
func sshLine(l *nodes.Layout, name string, args []string) []string {
	return append([]string{"ssh", "-F", l.Path(sshHere), sshName(name)}, args...)
}

// SSHAgent vouches for users of a cluster.
func SSHAgent(l *nodes.Layout, r nodes.Record) (ssh.Agent, error) {
	private, err := readOwn(l.Path(sshAuthority))
	if err != nil {
		return ssh.Agent{}, err
	}
	a, err := ssh.ReadAuthority(private)
	return ssh.Agent{Authority: a, Names: r.Names}, err
}

// Connect joins with a service of the head node. What that says is read from the reader.
func Connect(ctx context.Context, dir, service string) (net.Conn, *bufio.Reader, error) {
	conn, r, err := client.Connect(ctx, controllerDir(dir), service)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the cluster's %s: %w", service, err)
	}
	return conn, r, nil
}
