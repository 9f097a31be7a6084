package connect

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/shell"
)

// Way is a way to a head node.
type Way struct {
	Head
	Want Options
	// At is where this machine keeps what it knows of the way.
	At Files
	// Proxy is a command line that SSH speaks through, nil for none.
	Proxy []string
	// Keys is the folder with the user's keys.
	Keys string
	// Alone says that the connection is not shared with others.
	Alone bool
	// Open says that a shared connection is open.
	Open bool
}

// Seconds that SSH waits for a connection, after which a silent connection is asked
// for a sign of life, and that a shared one outlives its last user.
const (
	connectSeconds = "15"
	aliveSeconds   = "15"
	sharedSeconds  = "60"
)

// Name is the head node's for SSH: users may have a section for it in their
// ~/.ssh/config.
func (w Way) Name() string { return "muster-" + w.Cluster }

// Line is the start of a command line: SSH with the options that lead to the head
// node, without its name.
func (w Way) Line() []string {
	line := []string{"ssh"}
	set := func(key, value string) { line = append(line, "-o", key+"="+value) }
	set("HostName", w.address(w.Want))
	set("User", cmp.Or(w.Want.User, w.User))
	// The name of the machine's keys: an address may get another machine one day.
	set("HostKeyAlias", w.Instance)
	set("UserKnownHostsFile", word(w.At.knownHosts()))
	set("GlobalKnownHostsFile", "/dev/null")
	set("StrictHostKeyChecking", "yes")
	set("UpdateHostKeys", "no")
	set("CheckHostIP", "no")
	set("ConnectTimeout", connectSeconds)
	set("ServerAliveInterval", aliveSeconds)
	if w.Proxy != nil {
		set("ProxyCommand", strings.ReplaceAll(shell.Line(w.Proxy), "%", "%%"))
	}
	if socket := w.At.socket(w.Head); w.Alone || socket == "" {
		set("ControlPath", "none")
	} else {
		set("ControlMaster", "auto")
		set("ControlPath", word(socket))
		set("ControlPersist", sharedSeconds)
	}
	if key := w.identity(); key != "" {
		line = append(line, "-i", key)
	}
	return line
}

// word is a file's name in SSH's configuration, where blanks end a word and percent
// signs begin a variable.
func word(path string) string {
	return `"` + strings.ReplaceAll(path, "%", "%%") + `"`
}

// identity is the file of a private key: the one that was asked for, or one that is
// called like the key pair, or the user's own, of which `up` made the key pair. It is
// empty where SSH has to find one itself.
func (w Way) identity() string {
	if w.Want.Identity != "" {
		return w.Want.Identity
	}
	names := []string{w.KeyName + ".pem", w.KeyName}
	if w.KeyName == w.Name() {
		names = append(names, "id_ed25519", "id_rsa")
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(w.Keys, name)); w.KeyName != "" && w.Keys != "" && err == nil && info.Mode().IsRegular() {
			return filepath.Join(w.Keys, name)
		}
	}
	return ""
}

// Use says how a program on the head node uses its terminal and its input.
type Use struct {
	// Terminal gives it one.
	Terminal bool
	// NoInput leaves our input alone.
	NoInput bool
}

// Run is the command line that runs a program on the head node.
func (w Way) Run(u Use, program ...string) []string {
	line := append(w.Line(), "-o", "LogLevel=ERROR", "-e", "none")
	switch {
	case u.Terminal:
		line = append(line, "-t")
	case u.NoInput:
		line = append(line, "-T", "-n")
	default:
		line = append(line, "-T")
	}
	return append(line, w.Name(), shell.Line(program))
}

// Shell is the command line of a shell on the head node, or of another program that the
// further arguments make SSH do.
func (w Way) Shell(args ...string) []string {
	return append(append(w.Line(), w.Name()), args...)
}
