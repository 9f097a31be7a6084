package cloud

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// moto is a process of moto's server, started when the first call comes for it.
type moto struct {
	log *slog.Logger

	start sync.Once
	err   error // why it did not start
	addr  string
	dir   string
	cmd   *exec.Cmd
	ended chan struct{}

	mu   sync.Mutex // guards tail
	tail []string   // the last lines that it said
}

// findMoto finds the program: of the environment in $MUSTER_PYTHON, or in the
// repository's bin/py.
func findMoto() (string, error) {
	var places []string
	if python := os.Getenv("MUSTER_PYTHON"); python != "" {
		places = append(places, filepath.Join(python, "bin", "moto_server"))
	}
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, e := os.Stat(filepath.Join(dir, "go.mod")); e == nil {
			places = append(places, filepath.Join(dir, "bin", "py", "bin", "moto_server"))
		}
		dir = filepath.Dir(dir)
	}
	for _, p := range places {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p, nil
		}
	}
	return "", errors.New("there is no moto_server: make python, or MUSTER_PYTHON=DIR with DIR/bin/moto_server")
}

// url is where it answers. It starts it, once.
func (m *moto) url() (string, error) {
	m.start.Do(func() {
		if m.err = m.launch(); m.err != nil {
			m.err = fmt.Errorf("start moto: %w", m.err)
		}
	})
	return m.addr, m.err
}

func (m *moto) launch() error {
	program, err := findMoto()
	if err != nil {
		return err
	}
	if m.dir, err = os.MkdirTemp("", "muster-moto-"); err != nil {
		return err
	}
	images := filepath.Join(m.dir, "images.json")
	if err := os.WriteFile(images, officialImages(), 0o600); err != nil {
		return err
	}
	m.cmd = exec.Command(program, "-H", "127.0.0.1", "-p", "0")
	m.cmd.Env = append(withoutAWS(os.Environ()),
		"PYTHONWARNINGS=ignore", "PYTHONUNBUFFERED=1", "HOME="+m.dir, "MOTO_AMIS_PATH="+images, "MOTO_IAM_LOAD_MANAGED_POLICIES=true",
		"MOTO_ENABLE_AMI_VALIDATION=true", "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION=true", "MOTO_ENABLE_KEYPAIR_VALIDATION=true",
		// Its own calls of AWS, if it makes any, go nowhere.
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true")
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	m.cmd.Dir = m.dir
	said, err := m.cmd.StderrPipe()
	if err != nil {
		return err
	}
	return m.await(said)
}

// await starts the process and returns when it says where it listens.
func (m *moto) await(said io.Reader) error {
	m.ended = make(chan struct{})
	started, listens := make(chan error, 1), make(chan string, 1)
	go m.watch(said, started, listens)
	if err := <-started; err != nil {
		return err
	}
	select {
	case m.addr = <-listens:
		return nil
	case <-m.ended:
		return fmt.Errorf("it ended: %s", m.lastWords())
	case <-time.After(time.Minute):
		return fmt.Errorf("it does not listen after a minute: %s", m.lastWords())
	}
}

// watch is the process's parent: it stays on one thread of the system, because
// the process is killed when that thread ends.
func (m *moto) watch(said io.Reader, started chan<- error, listens chan<- string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(m.ended)
	err := m.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "Running on "); ok {
			listens <- strings.TrimSpace(url)
			continue
		}
		m.heard(lines.Text())
	}
	_, _ = io.Copy(io.Discard, said) // whatever the scanner did not want
	_ = m.cmd.Wait()                 // it is ended by a signal
}

// heard keeps what moto says, except for its list of requests.
func (m *moto) heard(line string) {
	line = colours.ReplaceAllString(line, "")
	if strings.Contains(line, " HTTP/1.1") || strings.TrimSpace(line) == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tail = append(m.tail, line)
	m.tail = m.tail[max(0, len(m.tail)-40):]
}

// colours are what moto's server colours its lines with.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// why is the last error that moto printed. It comes another way than the answer,
// and perhaps a little later.
func (m *moto) why() string {
	for range 20 {
		if words := m.lastWords(); strings.Contains(words, "Error") {
			return words
		}
		select {
		case <-m.ended:
		case <-time.After(10 * time.Millisecond):
		}
	}
	return m.lastWords()
}

func (m *moto) lastWords() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.tail) - 1; i >= 0; i-- {
		if line := m.tail[i]; !strings.HasPrefix(line, " ") && strings.Contains(line, "Error") {
			return line
		}
	}
	return strings.Join(m.tail, "\n")
}

func (m *moto) stop() error {
	if m == nil || m.cmd == nil || m.cmd.Process == nil {
		return nil
	}
	_ = m.cmd.Process.Kill() // it may have ended already
	<-m.ended
	return os.RemoveAll(m.dir)
}

// ask passes a call of the double's own, or a changed one, on to moto.
func (m *moto) ask(ctx context.Context, c *wire.Call) (*wire.Answer, error) {
	base, err := m.url()
	if err != nil {
		return nil, err
	}
	response, err := pass(ctx, base, c)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read moto's answer to %s %s: %w", c.Service, c.Action, err)
	}
	if gaveUp(c, response) {
		return wire.Missing("%s", m.why()), nil
	}
	return &wire.Answer{Status: response.StatusCode, Type: response.Header.Get("Content-Type"), Body: body, Moto: true}, nil
}

// gaveUp tells whether moto's answer says that it cannot answer: 500 for a call that
// it lacks or fails at, 404 in HTML for a path that it does not know.
func gaveUp(c *wire.Call, r *http.Response) bool {
	html := strings.HasPrefix(r.Header.Get("Content-Type"), "text/html")
	return r.StatusCode >= 500 || html && c.Service != "s3" && r.StatusCode >= 400
}

func withoutAWS(env []string) []string {
	var kept []string
	for _, e := range env {
		if !strings.HasPrefix(e, "AWS_") && !strings.HasPrefix(e, "MOTO_") && !strings.HasPrefix(e, "HOME=") {
			kept = append(kept, e)
		}
	}
	return kept
}
