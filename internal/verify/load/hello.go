//go:build linux

package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"
)

// Greeting is what a head node asks all nodes of a step, as a line of JSON.
type Greeting struct {
	// Turn is counted up, so that an answer can be told from a late one.
	Turn int `json:"turn"`
	// Names are looked up.
	Names []string `json:"names,omitempty"`
}

// Hello is a node's answer.
type Hello struct {
	Node string `json:"node"`
	Turn int    `json:"turn"`
	// Now is the node's clock when it heard the question.
	Now time.Time `json:"now"`
	// Unknown are names that the node could not look up, with why.
	Unknown map[string]string `json:"unknown,omitempty"`
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
		if err := write.Encode(Hello{Node: node, Turn: g.Turn, Now: now, Unknown: unknown(ctx, g.Names)}); err != nil {
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
