package ssh_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/services/ssh"
)

// have skips a test where OpenSSH's programs are not here.
func have(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatalf("this machine lacks %s", p)
		}
		t.Skipf("this machine lacks %s", p)
	}
}

func output(t *testing.T, env []string, line ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(line, " "), err, out)
	}
	return string(out)
}

// TestHostKey: OpenSSH reads the key, and finds the same public half in it.
func TestHostKey(t *testing.T) {
	have(t, "ssh-keygen")
	key, err := ssh.HostKey()
	if err != nil {
		t.Fatal(err)
	}
	line, err := ssh.HostLine(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(output(t, nil, "ssh-keygen", "-y", "-f", file)); got != line {
		t.Errorf("got %s, want %s", got, line)
	}
}

// serve starts an agent that knows who we are by two names, or by none.
func serve(t *testing.T, names ...string) (ssh.Authority, string) {
	t.Helper()
	private, err := ssh.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	authority, err := ssh.ReadAuthority(private)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "ssh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket, err := net.Listen("unix", filepath.Join(dir, "agent"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	agent := ssh.Agent{Authority: authority, Names: func(uid int) []string {
		if uid != os.Getuid() {
			t.Errorf("asked for user %d", uid)
		}
		return names
	}}
	go func() { ended <- agent.Serve(ctx, socket) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return authority, filepath.Join(dir, "agent")
}

// TestAgent: OpenSSH takes the certificate for one of this authority's, for these names.
func TestAgent(t *testing.T) {
	have(t, "ssh-keygen", "ssh-add")
	authority, socket := serve(t, "ada", "ubuntu")
	listed := output(t, []string{"SSH_AUTH_SOCK=" + socket}, "ssh-add", "-L")
	file := filepath.Join(t.TempDir(), "listed-cert.pub")
	if err := os.WriteFile(file, []byte(listed), 0o600); err != nil {
		t.Fatal(err)
	}
	told := output(t, nil, "ssh-keygen", "-L", "-f", file)
	for _, want := range []string{"ssh-ed25519-cert-v01@openssh.com user certificate", `Key ID: "ada,ubuntu"`, "                ada\n                ubuntu\n", "permit-pty", "Critical Options: (none)"} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in\n%s", want, told)
		}
	}
	_, key, _ := strings.Cut(authority.Line(), " ")
	blob, err := base64.StdEncoding.DecodeString(key)
	if err != nil || !bytes.Contains(decoded(t, listed), blob) {
		t.Errorf("the certificate does not name its authority: %v", err)
	}
	// What was shown to one client is no good for another.
	cmd := exec.CommandContext(t.Context(), "ssh-add", "-T", file)
	cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("another connection's certificate is signed with:\n%s", out)
	}
}

func decoded(t *testing.T, line string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(strings.Fields(line)[1])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAgent_knows_nobody: who has no name gets nothing.
func TestAgent_knows_nobody(t *testing.T) {
	have(t, "ssh-add")
	_, socket := serve(t)
	cmd := exec.CommandContext(t.Context(), "ssh-add", "-L")
	cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("there is something:\n%s", out)
	}
}

// TestAgent_keeps_connections_apart: nobody signs for a certificate that was shown to another connection, not even who
// asks with his own.
func TestAgent_keeps_connections_apart(t *testing.T) {
	_, socket := serve(t, "ada")
	mine, others := dial(t, socket), dial(t, socket)
	certificate, foreign := mine.certificate(), others.certificate()
	if bytes.Equal(keyOf(certificate), keyOf(foreign)) {
		t.Error("two connections have one key")
	}
	for name, row := range map[string]struct {
		with, data []byte
		want       byte
	}{
		"a_login":           {certificate, append([]byte("session"), sized(certificate)...), 14},
		"another_login":     {certificate, append([]byte("session"), sized(foreign)...), 5},
		"no_login":          {certificate, []byte("a text"), 5},
		"with_another's":    {foreign, append([]byte("session"), sized(foreign)...), 5},
		"nothing_is_signed": {nil, nil, 5},
	} {
		question := append(append([]byte{13}, append(sized(row.with), sized(row.data)...)...), 0, 0, 0, 0)
		if got := mine.ask(question); got[0] != row.want {
			t.Errorf("%s: got message %d, want %d", name, got[0], row.want)
		}
	}
}

// client asks an agent, message by message.
type client struct {
	t    *testing.T
	conn net.Conn
}

func dial(t *testing.T, socket string) client {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return client{t, conn}
}

func (c client) ask(question []byte) []byte {
	c.t.Helper()
	if _, err := c.conn.Write(sized(question)); err != nil {
		c.t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(c.conn, size[:]); err != nil {
		c.t.Fatal(err)
	}
	answer := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c.conn, answer); err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// certificate is the only one that the agent has for us.
func (c client) certificate() []byte {
	answer := c.ask([]byte{11})
	blob, _ := field(answer[5:])
	return blob
}

// keyOf is the key that a certificate is for: its third field.
func keyOf(certificate []byte) []byte {
	_, rest := field(certificate)
	_, rest = field(rest)
	key, _ := field(rest)
	return key
}

func field(data []byte) (value, rest []byte) {
	n := binary.BigEndian.Uint32(data)
	return data[4 : 4+n], data[4+n:]
}

func sized(data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}
