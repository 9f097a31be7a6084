//go:build linux

package load

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// TrafficOptions are what traffic is measured with.
type TrafficOptions struct {
	// In is what the workers write and Out what they all read. Out is closed at the end, if it can be; In has to end then.
	In  io.Reader
	Out io.Writer
	// Nodes are where a worker runs.
	Nodes []string
	// Towards is an address of the network that is measured, such as the head node's. If it is empty, it is the network of the addresses
	// that the nodes' names have.
	Towards string
	// Streams are how many connections a pair uses at once, 0 is 4.
	Streams int
	// CapGBps is the most that a pair sends each way, 0 is no limit. Where the processors are slower than the network, as with many
	// nodes on one machine, pairs without a limit measure how they share the processors.
	CapGBps float64
	// ReadyWait is how long workers may take to start, 0 is 30 seconds.
	ReadyWait time.Duration
}

// Traffic measures between pairs of nodes, on each of which a worker runs (Serve). It is for one goroutine.
type Traffic struct {
	o     TrafficOptions
	turn  int
	said  chan trafficSaid
	where map[string]string
	// silent are nodes that told nothing when they had to, and lost is why no worker can be heard any more.
	silent map[string]string
	lost   error
}

// Pair is two nodes that measure with each other.
type Pair struct{ A, B string }

// Measured is what a pair came to. What failed has Err.
type Measured struct {
	A, B string
	// AB and BA are bandwidths of each way in 10^9 bytes a second, without the first part of the time.
	AB, BA float64
	// MedianUs and P99Us are times of round trips of 64 bytes over TCP, in microseconds.
	MedianUs, P99Us float64
	Err             string
}

// Bounds of what workers and their head tell each other.
const (
	commandLimit = 4 << 20
	saidLimit    = 1000
	whyLimit     = 300
	secondsLimit = 60
)

// OpenTraffic waits until the workers are ready, or a time is over. Nodes that are not ready fail in each round; if none is, it is an
// error.
func OpenTraffic(ctx context.Context, o TrafficOptions) (*Traffic, error) {
	if o.Streams <= 0 {
		o.Streams = 4
	}
	if o.ReadyWait <= 0 {
		o.ReadyWait = 30 * time.Second
	}
	t := &Traffic{o: o, said: make(chan trafficSaid), where: map[string]string{}, silent: map[string]string{}}
	go t.hear()
	token := make([]byte, 32)
	_, _ = rand.Read(token) // it does not fail
	t.tell(trafficTold{Do: doOpen, Token: hex.EncodeToString(token), Towards: o.Towards})
	t.await(ctx, o.ReadyWait, t.ready)
	for _, n := range o.Nodes {
		if t.where[n] == "" && t.silent[n] == "" {
			t.silent[n] = "its worker did not start in " + o.ReadyWait.String()
		}
	}
	if len(t.where) > 0 {
		return t, nil
	}
	err := errors.Join(t.lost, context.Cause(ctx))
	if err == nil {
		err = errors.New("none of them told an address: " + t.silent[slices.Min(o.Nodes)])
	}
	return nil, errors.Join(fmt.Errorf("start workers on nodes: %w", err), t.Close())
}

// ready takes what a worker says when it begins, and tells whether all have.
func (t *Traffic) ready(s trafficSaid) bool {
	switch {
	case !slices.Contains(t.o.Nodes, s.Node):
	case s.Err != "":
		t.silent[s.Node] = s.Err
	case s.Kind == kindReady:
		if _, err := netip.ParseAddrPort(s.Address); err != nil {
			t.silent[s.Node] = "it told an address that is none"
			break
		}
		t.where[s.Node] = s.Address
	}
	return len(t.where)+len(t.silent) >= len(t.o.Nodes)
}

// Round has pairs measure at once, each for some seconds. No node may be in two pairs. It has an answer for each pair, in their order,
// and comes back in time whatever the workers do.
func (t *Traffic) Round(ctx context.Context, all []Pair, seconds float64) []Measured {
	t.turn++
	seconds = min(max(seconds, 0.1), secondsLimit)
	told := trafficTold{Do: doMeasure, Turn: t.turn, Streams: t.o.Streams, Seconds: seconds, CapGBps: t.o.CapGBps}
	out := make([]Measured, len(all))
	open := map[string]int{} // by the node that tells
	for i, p := range all {
		out[i] = Measured{A: p.A, B: p.B}
		if t.where[p.A] == "" || t.where[p.B] == "" {
			out[i].Err = t.away(p)
			continue
		}
		lead, other := p.A, p.B
		if t.silent[lead] != "" { // the other one will say how it fails
			lead, other = other, lead
		}
		open[lead] = i
		told.Pairs = append(told.Pairs, trafficPair{A: lead, B: other, To: t.where[other]})
	}
	if len(open) == 0 {
		return out
	}
	t.tell(told)
	limit := trafficLimit(seconds)
	t.await(ctx, limit, func(s trafficSaid) bool {
		i, ok := open[s.Node]
		if ok && s.Turn == t.turn && s.Kind == kindMeasured {
			out[i].take(s)
			delete(open, s.Node)
			delete(t.silent, s.Node)
		}
		return len(open) == 0
	})
	for node, i := range open {
		out[i].Err = t.silence(ctx, node, limit)
	}
	return out
}

// trafficLimit is how long a head waits for a round: a worker gives up before.
func trafficLimit(seconds float64) time.Duration { return workerLimit(seconds) + 5*time.Second }

func (t *Traffic) away(p Pair) string {
	for _, n := range []string{p.A, p.B} {
		if t.where[n] == "" {
			return n + ": " + orElse(t.silent[n], "no worker runs there")
		}
	}
	return ""
}

// silence is why a node told nothing.
func (t *Traffic) silence(ctx context.Context, node string, limit time.Duration) string {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx).Error()
	case t.lost != nil:
		return t.lost.Error()
	}
	t.silent[node] = "it told nothing in " + limit.String()
	return node + " told nothing in " + limit.String()
}

// take takes what the one who led told: who led may have been B.
func (m *Measured) take(s trafficSaid) {
	m.AB, m.BA = s.There, s.Back
	if s.Node == m.B {
		m.AB, m.BA = s.Back, s.There
	}
	m.MedianUs, m.P99Us, m.Err = s.MedianUs, s.P99Us, s.Err
}

// Close ends the workers and waits for their end.
func (t *Traffic) Close() error {
	var err error
	if c, ok := t.o.Out.(io.Closer); ok {
		err = c.Close()
	}
	for range t.said { // to its end
	}
	return err
}

func (t *Traffic) tell(told trafficTold) {
	text, err := json.Marshal(told)
	if err == nil {
		_, err = t.o.Out.Write(append(text, '\n'))
	}
	if err != nil && t.lost == nil {
		t.lost = fmt.Errorf("tell the workers: %w", err)
	}
}

// await takes what is said until it is enough, nobody is left, or the time is over.
func (t *Traffic) await(ctx context.Context, limit time.Duration, take func(trafficSaid) bool) {
	over := time.NewTimer(limit)
	defer over.Stop()
	for t.lost == nil {
		select {
		case s, ok := <-t.said:
			if !ok {
				t.lost = errors.New("the workers have ended")
				t.said = closedSaid()
				return
			}
			if take(s) {
				return
			}
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func closedSaid() chan trafficSaid {
	c := make(chan trafficSaid)
	close(c)
	return c
}

// hear reads what workers write, to its end. What is none of their lines is left out.
func (t *Traffic) hear() {
	defer close(t.said)
	to := t.said
	lines := bufio.NewReaderSize(t.o.In, 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		var s trafficSaid
		if len(line) > 0 && !errors.Is(err, bufio.ErrBufferFull) && json.Unmarshal(line, &s) == nil && s.Node != "" {
			s.Err = tidyWhy(s.Err)
			to <- s
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// tidyWhy is a reason that came from elsewhere: bounded, on one line, of characters that can be shown.
func tidyWhy(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return ' '
		}
		return c
	}, s)
	if len(s) > whyLimit {
		s = s[:whyLimit]
	}
	return strings.ToValidUTF8(s, "?")
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
