package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pause"
	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Scripts runs actions.
type Scripts struct {
	Machine
	// Fetch opens an s3:// URL.
	Fetch func(ctx context.Context, bucket, key string) (io.ReadCloser, error)
	// HTTP fetches https:// URLs; nil is http.DefaultClient.
	HTTP *http.Client
	// Env is what scripts find in their environment besides the machine's.
	Env []string
	// Limit is how long all scripts of an event may take together.
	Limit time.Duration
}

// actionDir keeps what scripts print, and scriptDir the scripts themselves.
const (
	actionDir = "/var/log/muster/actions"
	scriptDir = "/opt/muster/actions"
)

// Run fetches an event's scripts and runs them one after the other, as root, and stops
// at the first that fails. What they print is kept; the error has its end.
func (s Scripts) Run(ctx context.Context, event spec.Event, all []spec.Script) (string, error) {
	if len(all) == 0 {
		return "none in the file", nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limit, fmt.Errorf("the scripts of %s took longer than %s", event, s.Limit))
	defer cancel()
	for i, a := range all {
		name := fmt.Sprintf("%s-%d", event, i+1)
		path := s.path(filepath.Join(scriptDir, name))
		if err := s.fetch(ctx, a.URL, path); err != nil {
			return "", fmt.Errorf("fetch %s: %w", a.URL, err)
		}
		if err := s.script(ctx, a, path, s.path(filepath.Join(actionDir, name+".log"))); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d of %s ended well, output in %s", len(all), count.Of(len(all), "script"), actionDir), nil
}

func (s Scripts) script(ctx context.Context, a spec.Script, path, logPath string) error {
	if err := os.MkdirAll(filepath.Dir(logPath), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	began, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, a.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.Env = append(append(os.Environ(), "PATH="+SystemPath, "HOME=/root"), s.Env...)
	// A script's children end with it when its time is over.
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, unix.ENOEXEC) {
		err = errors.New("it has no #! line to say by which program it is run")
	}
	if err != nil {
		return fmt.Errorf("run %s: %w%s", a.URL, err, said(logPath, began))
	}
	return nil
}

// said is the end of what a script printed since a place in its log.
func said(path string, from int64) string {
	lines, err := tail.File(path, from, 5)
	if err != nil || len(lines) == 0 {
		return "; it printed nothing"
	}
	return "; it printed last: " + strings.Join(lines, " | ")
}

// scriptLimit is the size of the largest script that is fetched.
const scriptLimit = 64 << 20

// Fetching is tried as often, with a pause that doubles.
const (
	fetchTries = 4
	fetchPause = time.Second
)

// fetch brings a script to a path, whole, for root alone.
func (s Scripts) fetch(ctx context.Context, url, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	wait := fetchPause
	for i := 1; ; i++ {
		err := s.fetchOnce(ctx, url, path)
		if err == nil || i == fetchTries || ctx.Err() != nil {
			return err
		}
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		wait *= 2
	}
}

func (s Scripts) fetchOnce(ctx context.Context, url, path string) error {
	body, err := s.open(ctx, url)
	if err != nil {
		return err
	}
	defer body.Close()
	return whole.Make(path, nil, func(beside *os.File) error {
		n, err := io.Copy(beside, io.LimitReader(body, scriptLimit+1))
		if err == nil && n > scriptLimit {
			err = fmt.Errorf("it has more than %d MiB", scriptLimit>>20)
		}
		return errors.Join(err, beside.Chmod(0o700))
	})
}

// Text is what a URL has.
func (s Scripts) Text(ctx context.Context, url string) (string, error) {
	body, err := s.open(ctx, url)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, 1<<20))
	return string(text), err
}

func (s Scripts) open(ctx context.Context, url string) (io.ReadCloser, error) {
	if rest, ok := strings.CutPrefix(url, "s3://"); ok {
		bucket, key, _ := strings.Cut(rest, "/")
		return s.Fetch(ctx, bucket, key)
	}
	if !strings.HasPrefix(strings.ToLower(url), "https://") {
		return nil, errors.New("it is neither s3:// nor https://")
	}
	client := s.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, errors.New(resp.Status)
	}
	if resp.ContentLength > 0 {
		return exact{resp.Body, &resp.ContentLength}, nil
	}
	return resp.Body, nil
}

// exact fails a body that ends before its length.
type exact struct {
	io.ReadCloser
	left *int64
}

func (e exact) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	*e.left -= int64(n)
	if err == io.EOF && *e.left > 0 {
		return n, fmt.Errorf("%s bytes are missing: %w", strconv.FormatInt(*e.left, 10), io.ErrUnexpectedEOF)
	}
	return n, err
}
