package cloud

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
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
)

// process is a process of moto's server.
type process struct {
	addr  string
	cmd   *exec.Cmd
	ended chan struct{}

	mu   sync.Mutex // guards tail
	tail []string   // the last lines that it said
}

// server is the program that the process runs.
//
//go:embed server.py
var server string

// launch starts a process.
func launch() (*process, error) {
	program, err := findMoto()
	if err != nil {
		return nil, err
	}
	images, err := unnamed(officialImages())
	if err != nil {
		return nil, err
	}
	defer images.Close()
	p := &process{cmd: exec.Command(filepath.Join(filepath.Dir(program), "python3"), "-", "-H", "127.0.0.1", "-p", "0"), ended: make(chan struct{})}
	p.cmd.Stdin = strings.NewReader(server)
	p.cmd.ExtraFiles = []*os.File{images}
	p.cmd.Env = append(withoutAWS(os.Environ()),
		"PYTHONWARNINGS=ignore", "PYTHONUNBUFFERED=1", "HOME=/nonexistent", "MOTO_AMIS_PATH=/proc/self/fd/3",
		"MOTO_IAM_LOAD_MANAGED_POLICIES=true", "MOTO_ENABLE_AMI_VALIDATION=true", "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION=true", "MOTO_ENABLE_KEYPAIR_VALIDATION=true",
		// Its own calls of AWS, if it makes any, go nowhere.
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Dir = os.TempDir()
	said, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.await(said); err != nil {
		return nil, err
	}
	return p, nil
}

// unnamed is a file that goes when it is closed.
func unnamed(data []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "muster-moto-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	return f, err
}

// startWait is how long a server may take to listen, on a machine that does much else.
const startWait = 3 * time.Minute

// await starts the process and returns when it says where it listens.
func (p *process) await(said io.Reader) error {
	started, listens := make(chan error, 1), make(chan string, 1)
	go p.watch(said, started, listens)
	if err := <-started; err != nil {
		return err
	}
	select {
	case p.addr = <-listens:
		return nil
	case <-p.ended:
		return fmt.Errorf("it ended: %s", p.lastWords())
	case <-time.After(startWait):
		p.end()
		return fmt.Errorf("it does not listen after %s: %s", startWait, p.lastWords())
	}
}

// watch is the process's parent: it stays on one thread of the system, because
// the process is killed when that thread ends.
func (p *process) watch(said io.Reader, started chan<- error, listens chan<- string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.ended)
	err := p.cmd.Start()
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
		p.heard(lines.Text())
	}
	_, _ = io.Copy(io.Discard, said) // whatever the scanner did not want
	_ = p.cmd.Wait()                 // it is ended by a signal
}

// colours are what moto's server colours its lines with.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// heard keeps what moto says, except for its list of requests.
func (p *process) heard(line string) {
	line = colours.ReplaceAllString(line, "")
	if strings.Contains(line, " HTTP/1.1") || strings.TrimSpace(line) == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail = append(p.tail, line)
	p.tail = p.tail[max(0, len(p.tail)-40):]
}

// why is the last error that moto printed. It comes another way than the answer,
// and perhaps a little later.
func (p *process) why() string {
	for range 20 {
		if words := p.lastWords(); strings.Contains(words, "Error") {
			return words
		}
		select {
		case <-p.ended:
		case <-time.After(10 * time.Millisecond):
		}
	}
	return p.lastWords()
}

func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.tail) - 1; i >= 0; i-- {
		if line := p.tail[i]; !strings.HasPrefix(line, " ") && strings.Contains(line, "Error") {
			return line
		}
	}
	return strings.Join(p.tail, "\n")
}

func (p *process) lives() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// renew lets it forget everything.
func (p *process) renew() error {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Post(p.addr+"/moto-api/reset", "", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("reset moto: %s", response.Status)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail = nil
	return nil
}

func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
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
