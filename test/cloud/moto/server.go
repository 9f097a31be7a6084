package moto

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Server is a server of moto. It starts when it is first asked for its URL.
type Server struct {
	images []byte
	start  sync.Once
	err    error // why it did not start
	url    string
	conn   *net.UnixConn // it ends when we close our side, and prints into it
	ended  chan struct{} // nil before it has started

	mu   sync.Mutex // guards tail
	tail []string   // the last lines that it printed
}

// New is a server with these machine images: a list in JSON, as moto's amis.json is.
func New(images []byte) *Server { return &Server{images: images} }

// URL is where it answers.
func (s *Server) URL() (string, error) {
	s.start.Do(func() {
		if err := s.launch(); err != nil {
			s.err = fmt.Errorf("start moto: %w", err)
		}
	})
	return s.url, s.err
}

// own is the template of this process, where nobody else has made one.
var own = sync.OnceValues(func() (*Template, error) { return NewTemplate("") })

// startWait is how long a server may take to listen, on a machine that does much else.
const startWait = 3 * time.Minute

// launch starts it and returns when it says where it listens.
func (s *Server) launch() error {
	address := os.Getenv(Variable)
	if address == "" {
		t, err := own()
		if err != nil {
			return err
		}
		address = t.Address()
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: address})
	if err != nil {
		return err
	}
	s.conn, s.ended = conn, make(chan struct{})
	listens := make(chan string, 1)
	go s.watch(listens)
	if _, err := conn.Write(append(s.images, '\n')); err != nil {
		return errors.Join(err, conn.Close())
	}
	select {
	case s.url = <-listens:
		return nil
	case <-s.ended:
		return fmt.Errorf("it ended: %s", s.lastWords())
	case <-time.After(startWait):
		return errors.Join(fmt.Errorf("it does not listen after %s: %s", startWait, s.lastWords()), conn.Close())
	}
}

// watch keeps what it prints until it ends.
func (s *Server) watch(listens chan<- string) {
	defer close(s.ended)
	lines := bufio.NewScanner(s.conn)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "Running on "); ok {
			listens <- strings.TrimSpace(url)
			continue
		}
		s.keep(lines.Text())
	}
	_, _ = io.Copy(io.Discard, s.conn) // whatever the scanner did not want
}

// colours are what moto's server colours its lines with.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// keep keeps a line, except for those of moto's list of requests.
func (s *Server) keep(line string) {
	line = colours.ReplaceAllString(line, "")
	if strings.Contains(line, " HTTP/1.1") || strings.TrimSpace(line) == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, line)
	s.tail = s.tail[max(0, len(s.tail)-40):]
}

// Why is the last error that it printed. It comes another way than the answer, and perhaps a little later.
func (s *Server) Why() string {
	for range 20 {
		if words := s.lastWords(); strings.Contains(words, "Error") {
			return words
		}
		select {
		case <-s.ended:
		case <-time.After(10 * time.Millisecond):
		}
	}
	return s.lastWords()
}

func (s *Server) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.tail) - 1; i >= 0; i-- {
		if line := s.tail[i]; !strings.HasPrefix(line, " ") && strings.Contains(line, "Error") {
			return line
		}
	}
	return strings.Join(s.tail, "\n")
}

// Close ends it, if it has started.
func (s *Server) Close() {
	if s == nil || s.conn == nil {
		return
	}
	_ = s.conn.CloseWrite() // it may have ended already
	<-s.ended
	_ = s.conn.Close()
}
