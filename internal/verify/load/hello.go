//go:build linux

package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"time"
)

// Greeting is what a head node asks all nodes of a step, as a line of JSON.
type Greeting struct {
	// Turn is counted up, so that an answer can be told from a late one.
	Turn int `json:"turn"`
	// Names are looked up.
	Names []string `json:"names,omitempty"`
	// Marks are files that the node should see, and what they say.
	Marks map[string]string `json:"marks,omitempty"`
}

// Hello is a node's answer.
type Hello struct {
	Node string `json:"node"`
	Turn int    `json:"turn"`
	// Now is the node's clock when it heard the question.
	Now time.Time `json:"now"`
	// Unknown are names that the node could not look up, with why.
	Unknown map[string]string `json:"unknown,omitempty"`
	// Unseen are marks that the node does not see as they are, with why.
	Unseen map[string]string `json:"unseen,omitempty"`
}

// lookupWait bounds the lookup of one name.
const lookupWait = 5 * time.Second

// Answer answers greetings until there are no more. Names are looked up as programs of the node do it.
func Answer(ctx context.Context, in io.Reader, out io.Writer, node string) error {
	lines := bufio.NewScanner(io.LimitReader(in, 1<<20))
	write := json.NewEncoder(out)
	if err := write.Encode(Hello{Node: node, Turn: -1}); err != nil { // it is there
		return err
	}
	for lines.Scan() {
		now := time.Now()
		var g Greeting
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			return err
		}
		if err := write.Encode(Hello{Node: node, Turn: g.Turn, Now: now, Unknown: unknown(ctx, g.Names), Unseen: unseen(ctx, g.Marks)}); err != nil {
			return err
		}
	}
	return lines.Err()
}

// unknown are the names that nobody knows an address of.
func unknown(ctx context.Context, names []string) map[string]string {
	var found map[string]string
	for _, name := range names {
		ctx, cancel := context.WithTimeoutCause(ctx, lookupWait, errors.New("no answer in time"))
		_, err := net.DefaultResolver.LookupHost(ctx, name)
		cancel()
		if err == nil {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[name] = err.Error()[:min(len(err.Error()), 100)]
	}
	return found
}

// markWait bounds the look at all marks: a file system may never answer.
const markWait = 10 * time.Second

// unseen are the marks that are not there, or say something else. Who looks into a file system that does not answer is left behind:
// this process ends soon.
func unseen(ctx context.Context, marks map[string]string) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, markWait)
	defer cancel()
	type seen struct{ path, why string }
	answers := make(chan seen, len(marks))
	found := map[string]string{}
	for path, text := range marks {
		found[path] = "no answer within " + markWait.String()
		go func() { answers <- seen{path, notMarked(path, text)} }()
	}
	for range marks {
		select {
		case a := <-answers:
			if found[a.path] = a.why; a.why == "" {
				delete(found, a.path)
			}
		case <-ctx.Done():
			return found
		}
	}
	return found
}

// notMarked says why a file is not the mark, or nothing.
func notMarked(path, text string) string {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "a file that the head node wrote there is not to be seen"
	case err != nil:
		return err.Error()
	}
	defer f.Close()
	have, err := io.ReadAll(io.LimitReader(f, int64(len(text))+1))
	switch {
	case err != nil:
		return err.Error()
	case string(have) != text:
		return "a file that the head node wrote there says something else"
	}
	return ""
}
