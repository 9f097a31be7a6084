package agent

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/services/ssh"
)

// poolKeys gives a login node the host keys that all machines of its pool have: they
// are behind one name. They follow from the munge key, which this machine has as root.
func (n *node) poolKeys(ctx context.Context) (string, error) {
	secret, err := n.machine.Read(MungeKeyFile)
	if err != nil {
		return "", err
	}
	keys, err := ssh.PoolKeys([]byte(secret), n.Ticket.Cluster+"/"+n.Ticket.Queue)
	if err != nil {
		return "", err
	}
	private, public := map[string]string{}, map[string]string{}
	for _, k := range keys {
		private[k.Name], public[k.Name] = k.Private, k.Public
	}
	return n.machine.HostKeys(ctx, private, public)
}

// introduce puts into the status how people get here: as whom they log in, and by which
// keys SSH knows this machine.
func (h *headNode) introduce() {
	name := ""
	if h.cluster != nil {
		name = loginUser(h.cluster.file.DefaultUser())
	}
	keys := hostKeys("/etc/ssh")
	h.status.change(func(s *manifest.HeadStatus) { s.User, s.HostKeys = name, keys })
}

// loginUser is the user of the image's operating system, or of an image of the
// user's own the first that is no part of the system; empty if there is none.
func loginUser(usual string) string {
	if _, err := user.Lookup(usual); err == nil {
		return usual
	}
	first, err := user.LookupId("1000")
	if err != nil {
		return ""
	}
	return first.Username
}

// hostKeys are the public keys of sshd, without their comments.
func hostKeys(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "ssh_host_*_key.pub")) // the pattern is sound
	var keys []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if words := strings.Fields(string(text)); err == nil && len(words) >= 2 {
			keys = append(keys, words[0]+" "+words[1])
		}
	}
	slices.Sort(keys)
	return keys
}
