//go:build linux

package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// pings bounds the round trips, and pingPart is the part of a round's time for them; the rest is half for each way. warmPart of that does
// not count.
const (
	pings    = 1000
	pingPart = 0.2
	warmPart = 0.25
)

// measure measures with the other of a pair: latency first, when the connection has nothing else to do, then there and back.
func (w *trafficWorker) measure(ctx context.Context, p trafficPair, told trafficTold) trafficSaid {
	m := meeting{to: p.To, token: w.token, streams: min(max(1, told.Streams), 32)}
	total := time.Duration(min(told.Seconds, secondsLimit) * float64(time.Second))
	each := time.Duration(float64(total) * (1 - pingPart) / 2)
	flow := wish{lasts: each, warms: time.Duration(float64(each) * warmPart), rate: int64(told.CapGBps * 1e9 / float64(m.streams))}
	s := trafficSaid{}
	fail := func(deed string, err error) trafficSaid {
		return trafficSaid{Err: fmt.Sprintf("%s %s: %v", deed, p.B, err)}
	}
	var err error
	if s.MedianUs, s.P99Us, err = m.latency(ctx, wish{kind: wishEcho, lasts: time.Duration(float64(total) * pingPart)}); err != nil {
		return fail("exchange messages with", err)
	}
	flow.kind = wishSend
	if s.There, err = m.all(ctx, flow, m.give); err != nil {
		return fail("send to", err)
	}
	flow.kind = wishTake
	if s.Back, err = m.all(ctx, flow, m.get); err != nil {
		return fail("receive from", err)
	}
	return s
}

// meeting is with another worker.
type meeting struct {
	to      string
	token   []byte
	streams int
}

// call connects, for as long as the context lasts.
func (m meeting) call(ctx context.Context, w wish) (c *net.TCPConn, end func(), err error) {
	c, err = call(ctx, m.to, m.token, w)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	return c, func() { stop(); _ = c.Close() }, nil
}

// latency has messages sent back, one after the other.
func (m meeting) latency(ctx context.Context, w wish) (median, p99 float64, err error) {
	c, end, err := m.call(ctx, w)
	if err != nil {
		return 0, 0, err
	}
	defer end()
	_ = c.SetDeadline(time.Now().Add(w.lasts + proveWait)) // of a broken connection the next read tells
	message := make([]byte, pingBytes)
	var took []float64
	for begun := time.Now(); len(took) < pings && (len(took) < 3 || time.Since(begun) < w.lasts); {
		sent := time.Now()
		if _, err := c.Write(message); err != nil {
			return 0, 0, err
		}
		if _, err := io.ReadFull(c, message); err != nil {
			return 0, 0, err
		}
		took = append(took, float64(time.Since(sent).Nanoseconds())/1e3)
	}
	slices.Sort(took)
	return took[len(took)/2], took[min(len(took)-1, len(took)*99/100)], nil
}

// all runs the streams of one way at once, and is the sum of their rates. One that fails fails all.
func (m meeting) all(ctx context.Context, w wish, one func(*net.TCPConn, wish) (flow, error)) (gbps float64, err error) {
	conns := make([]*net.TCPConn, m.streams)
	for i := range conns { // all connect before any of them waits for data
		c, end, err := m.call(ctx, w)
		if err != nil {
			return 0, err
		}
		defer end()
		conns[i] = c
	}
	flows, errs := make([]flow, m.streams), make([]error, m.streams)
	var running sync.WaitGroup
	for i, c := range conns {
		running.Go(func() { flows[i], errs[i] = one(c, w) })
	}
	running.Wait()
	for i := range flows {
		if errs[i] != nil {
			return 0, errs[i]
		}
		gbps += flows[i].gbps()
	}
	if gbps == 0 {
		return 0, errors.New("no data came through")
	}
	return gbps, nil
}

// get receives.
func (m meeting) get(c *net.TCPConn, w wish) (flow, error) { return take(c, w) }

// give sends, and hears what came.
func (m meeting) give(c *net.TCPConn, w wish) (flow, error) {
	if err := send(c, w); err != nil {
		return flow{}, err
	}
	var told [2]int64
	_ = c.SetReadDeadline(time.Now().Add(proveWait)) // of a broken connection the next read tells
	err := json.NewDecoder(io.LimitReader(c, 100)).Decode(&told)
	if err != nil {
		return flow{}, fmt.Errorf("hear what came: %w", err)
	}
	return flow{told[0], time.Duration(told[1])}, nil
}
