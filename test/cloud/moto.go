package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// moto is a double's moto: a process that it has to itself from the first call that
// comes for it until it is closed.
type moto struct {
	start   sync.Once
	err     error // why it did not start
	process *process
}

// idle are processes of moto that no double has now. They are as new, and end with
// this process. Starting one takes some seconds of a CPU, renewing one much less.
var idle struct {
	mu        sync.Mutex // guards processes
	processes []*process
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

// url is where it answers. It begins with the first call.
func (m *moto) url() (string, error) {
	m.start.Do(func() {
		if m.process = takeIdle(); m.process == nil {
			m.process, m.err = launch()
		}
		if m.err != nil {
			m.err = fmt.Errorf("start moto: %w", m.err)
		}
	})
	if m.err != nil {
		return "", m.err
	}
	return m.process.addr, nil
}

func takeIdle() *process {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	for len(idle.processes) > 0 {
		last := len(idle.processes) - 1
		p := idle.processes[last]
		idle.processes = idle.processes[:last]
		if p.lives() {
			return p
		}
	}
	return nil
}

// stop gives the process back, renewed; one that cannot be is ended.
func (m *moto) stop() {
	if m == nil || m.process == nil {
		return
	}
	if err := m.process.renew(); err != nil {
		m.process.end()
		return
	}
	idle.mu.Lock()
	defer idle.mu.Unlock()
	idle.processes = append(idle.processes, m.process)
}

// why is the last error that moto printed.
func (m *moto) why() string { return m.process.why() }

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

// Direct is a configuration for clients of moto itself, past the double. The double
// is compared with it.
func (c *Cloud) Direct() (aws.Config, error) {
	base, err := c.moto.url()
	config := c.Config()
	config.BaseEndpoint = aws.String(base)
	return config, err
}
