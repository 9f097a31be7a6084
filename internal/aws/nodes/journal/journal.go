// Package journal remembers calls that may start instances: each is written down
// before it is made, and what it gave afterwards. It is a file of lines with
// checksums. Its law: a call that was made is in it, whenever the process or the
// machine died; a line that was cut off or damaged is lost alone.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Launch is a call that may start instances.
type Launch struct {
	// Token is the call's client token, At when it was about to be made.
	Token string    `json:"token"`
	At    time.Time `json:"at"`
	// Nodes are those that the instances are for, in the order of their numbers.
	Nodes []string `json:"nodes"`
	// Request is the call as it has to be repeated.
	Request json.RawMessage `json:"request"`
	// Answered says that Instances is what it gave.
	Answered  bool       `json:"answered,omitempty"`
	Instances []Instance `json:"instances,omitempty"`
}

// Instance is a machine of a launch.
type Instance struct {
	Node    string     `json:"node"`
	ID      string     `json:"id"`
	Started time.Time  `json:"started"`
	Address netip.Addr `json:"address,omitzero"`
}

// Journal is a file of launches. Its methods may be called from many goroutines.
type Journal struct {
	path string

	mu   sync.Mutex // guards what follows, and the file
	file *os.File
	live map[string]Launch
	// lines are the file's. torn says that its last write failed half-way.
	lines int
	torn  bool
}

// line is a change: a launch that began or was answered, or the tokens of those
// that are done with.
type line struct {
	Launch *Launch  `json:"launch,omitempty"`
	Done   []string `json:"done,omitempty"`
}

// Open reads a journal or begins one. The launches are those that are not settled,
// oldest first; damaged counts the lines that could not be read.
func Open(path string) (j *Journal, open []Launch, damaged int, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, 0, fmt.Errorf("open the journal of launches: %w", err)
	}
	j = &Journal{path: path, live: map[string]Launch{}}
	for text := range bytes.Lines(data) {
		l, ok := parse(text)
		if !ok {
			damaged++
			continue
		}
		j.apply(l)
	}
	if err := j.rewrite(); err != nil {
		return nil, nil, 0, err
	}
	return j, j.sorted(), damaged, nil
}

// Begin writes down a launch before it is made. When it returns, the launch is on
// disk.
func (j *Journal) Begin(l Launch) error {
	if err := j.append(line{Launch: &l}, durable); err != nil {
		return fmt.Errorf("write down the launch of %s: %w", count.Of(len(l.Nodes), "node"), err)
	}
	return nil
}

// Answer writes down what a launch gave. It does not wait for the disk: without
// this line the launch is only asked for once more.
func (j *Journal) Answer(l Launch) error {
	if err := j.append(line{Launch: &l}, fast); err != nil {
		return fmt.Errorf("write down the answer to the launch of %s: %w", count.Of(len(l.Nodes), "node"), err)
	}
	return nil
}

// Settle forgets launches that started no instance, or whose instances EC2 shows.
// Unknown ones are no error.
func (j *Journal) Settle(tokens ...string) error {
	if len(tokens) == 0 {
		return nil
	}
	if err := j.append(line{Done: tokens}, fast); err != nil {
		return fmt.Errorf("forget %s: %w", count.Of(len(tokens), "launch"), err)
	}
	return nil
}

// Close closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}

// durability is what an append waits for.
type durability int

const (
	fast durability = iota
	durable
)

// spareLines are how many lines the file may have beside those that count.
const spareLines = 64

func (j *Journal) append(l line, d durability) error {
	text, err := format(l)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	before := maps.Clone(j.live)
	j.apply(l)
	if j.torn || j.lines > 2*len(j.live)+spareLines {
		err = j.rewrite()
	} else {
		err = j.write(text, d)
	}
	if err != nil {
		j.live = before
	}
	return err
}

func (j *Journal) write(text []byte, d durability) error {
	j.torn = true
	if _, err := j.file.Write(text); err != nil {
		return err
	}
	if d == durable {
		if err := j.file.Sync(); err != nil {
			return err
		}
	}
	j.torn = false
	j.lines++
	return nil
}

// rewrite makes the file anew with what counts, whole or not at all.
func (j *Journal) rewrite() (err error) {
	var all []byte
	for _, l := range j.sorted() {
		text, err := format(line{Launch: &l})
		if err != nil {
			return err
		}
		all = append(all, text...)
	}
	beside := j.path + ".new"
	file, err := os.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(all)
	if err = errors.Join(err, file.Sync()); err == nil {
		err = whole.Rename(beside, j.path)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	old := j.file
	j.file, j.lines, j.torn = file, len(j.live), false
	if old != nil {
		_ = old.Close() // what it held is in the new one
	}
	return nil
}

// apply takes a line into account. Settled launches do not come back.
func (j *Journal) apply(l line) {
	if l.Launch != nil {
		j.live[l.Launch.Token] = *l.Launch
	}
	for _, token := range l.Done {
		delete(j.live, token)
	}
}

func (j *Journal) sorted() []Launch {
	return slices.SortedStableFunc(maps.Values(j.live), func(a, b Launch) int { return a.At.Compare(b.At) })
}

// format writes a line: the checksum of the rest, a space, JSON.
func format(l line) ([]byte, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text), nil
}

func parse(text []byte) (line, bool) {
	var l line
	sum, rest, ok := bytes.Cut(text, []byte(" "))
	rest, whole := bytes.CutSuffix(rest, []byte("\n"))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !ok || !whole || err != nil || crc32.ChecksumIEEE(rest) != uint32(want) {
		return l, false
	}
	if err := json.Unmarshal(rest, &l); err != nil || (l.Launch != nil && l.Launch.Token == "") {
		return line{}, false
	}
	return l, true
}
