package source

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// enrootFile is Enroot's file of credentials.
func enrootFile() string {
	dir := os.Getenv("ENROOT_CONFIG_PATH")
	if dir == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return ".credentials"
		}
		dir = filepath.Join(config, "enroot")
	}
	return filepath.Join(dir, ".credentials")
}

// enrootHosts are the names by which a registry may be in files of credentials,
// the usual one first.
func enrootHosts(host string) []string {
	if host == Hub {
		return []string{"registry-1.docker.io", Hub, "docker.io"}
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		return []string{h, host} // Enroot leaves the port out
	}
	return []string{host}
}

func fromEnroot(ref Ref) (authn.Authenticator, error) {
	file := enrootFile()
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for credentials for %s: %w", ref.Host, err)
	}
	entry, ok := findLogin(parseCredentials(string(data)), ref)
	if !ok {
		return nil, nil
	}
	where := fmt.Sprintf("%s:%d", file, entry.line)
	if !strings.HasPrefix(entry.password, "$") {
		if entry.password == "" {
			return nil, fmt.Errorf("%s: there is no password for %s", where, entry.machine)
		}
		return authn.FromConfig(authn.AuthConfig{Username: entry.login, Password: entry.password}), nil
	}
	region, err := awsCommand(entry.password)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	at, _ := ecrHost(ref.Host)
	if region != "" {
		at.region = region
	}
	return newECR(at), nil
}

// login is one line of Enroot's file.
type login struct {
	line                     int
	machine, login, password string
}

// parseCredentials reads lines of `machine HOST login USER password PASSWORD`, as
// Enroot does: a password that begins with $ goes to the end of its line. Lines
// of another form say nothing to it.
func parseCredentials(text string) []login {
	var all []login
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "machine" || words[2] != "login" {
			continue
		}
		l := login{line: i + 1, machine: words[1], login: words[3]}
		if len(words) >= 6 && words[4] == "password" {
			l.password = words[5]
			if strings.HasPrefix(l.password, "$") {
				l.password = strings.Join(words[5:], " ")
			}
		}
		all = append(all, l)
	}
	return all
}

// findLogin is the first entry for a registry and, if one is asked for, a user.
func findLogin(all []login, ref Ref) (login, bool) {
	for _, host := range enrootHosts(ref.Host) {
		for _, l := range all {
			if l.machine == host && (ref.User == "" || ref.User == l.login) {
				return l, true
			}
		}
	}
	return login{}, false
}

var awsForm = pattern.New(`^\$\( ?aws ecr get-login-password(?: --region[ =]([a-z0-9-]+))? ?\)$`)

// awsCommand recognises the command that Enroot's guide has for Amazon's
// registries, and returns its region if it names one. No command is ever run.
func awsCommand(password string) (region string, err error) {
	if m := awsForm().FindStringSubmatch(password); m != nil {
		return m[1], nil
	}
	return "", errors.New("the password is a command, and muster runs none; it knows `$(aws ecr get-login-password --region REGION)`. For others use `docker login` or a credential helper of Docker's")
}
