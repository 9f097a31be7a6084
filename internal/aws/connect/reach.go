// Package connect knows the ways to the head node of a cluster on AWS: SSH, straight or
// through Session Manager, and Session Manager's own shell. It writes the command
// lines, keeps the head node's host keys, so that SSH trusts no other machine, and notes
// where a connection is that others may share. Which machine the head node is, others
// say; who runs the command lines, too.
package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"
)

// Head is a head node.
type Head struct {
	Cluster  string `json:"cluster"`
	Region   string `json:"region"`
	Instance string `json:"instance"`
	// Public and Private are its addresses; Public may be empty.
	Public  string `json:"public,omitempty"`
	Private string `json:"private"`
	// User is the user that people log in as, HostKeys the machine's public keys.
	User     string   `json:"user"`
	HostKeys []string `json:"host_keys"`
	// KeyName is EC2's key pair, empty for none.
	KeyName string `json:"key_name,omitempty"`
}

// Options are a user's wishes for the way.
type Options struct {
	// User and Identity, a file, are empty for the usual ones.
	User, Identity string
	// Private asks for the private address, Session for Session Manager.
	Private, Session bool
}

// address is where SSH connects to.
func (h Head) address(o Options) string {
	if o.Private {
		return h.Private
	}
	return cmp.Or(h.Public, h.Private)
}

// Look is what there is of ways.
type Look struct {
	// Own says that the user's configuration of SSH leads to the head node in a way of
	// its own.
	Own bool
	// Port is why SSH's port does not answer, Plugin why there is no Session Manager.
	Port, Plugin error
}

// portWait is how long SSH's port may take to answer.
const portWait = 4 * time.Second

// Look looks which ways there are. config is the start of a command line of SSH that
// has the head node's options.
func (h Head) Look(ctx context.Context, o Options, config []string) Look {
	l := Look{Plugin: PluginMissing(ctx)}
	if o.Session {
		return l
	}
	if l.Own = ownWay(ctx, config); l.Own {
		return l
	}
	ctx, cancel := context.WithTimeout(ctx, portWait)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(h.address(o), "22"))
	if err == nil {
		conn.Close()
	}
	l.Port = err
	return l
}

// ownWay asks SSH whether the user's configuration has a proxy.
func ownWay(ctx context.Context, config []string) bool {
	line := append([]string{config[0], "-G"}, config[1:]...)
	out, err := exec.CommandContext(ctx, line[0], line[1:]...).Output()
	if err != nil {
		return false // SSH tells the reason when it is run
	}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if (key == "proxyjump" || key == "proxycommand") && value != "" && value != "none" {
			return true
		}
	}
	return false
}

// Choose says whether SSH goes through Session Manager, or why there is no way.
func (h Head) Choose(o Options, l Look) (session bool, err error) {
	switch {
	case o.Session && l.Plugin != nil:
		return false, l.Plugin
	case o.Session:
		return true, nil
	case l.Own || l.Port == nil:
		return false, nil
	case l.Plugin == nil:
		return true, nil
	}
	reason := l.Port
	if cause, ok := errors.AsType[*net.OpError](reason); ok {
		reason = cause.Err
	}
	return false, fmt.Errorf("%s does not answer on SSH's port (%w): HeadNode/Ssh/AllowedIps of the cluster file says who may connect. Another way is Session Manager: %w",
		h.address(o), reason, l.Plugin)
}
