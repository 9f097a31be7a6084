package machine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// serveNames is the VPC's resolver: it knows the machines and what Names knows, and
// nothing of the rest of the world.
func (w *World) serveNames(ctx context.Context) error {
	conn, err := net.ListenPacket("udp4", netip.AddrPortFrom(Resolver, 53).String())
	if err != nil {
		return fmt.Errorf("serve names: %w", err)
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := w.answer(ctx, buf[:n]); reply != nil {
				_, _ = conn.WriteTo(reply, from) // whoever asked asks again
			}
		}
	}()
	return nil
}

// answer answers one question, nil if it was none.
func (w *World) answer(ctx context.Context, question []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(question)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	var found []netip.Addr
	if q.Class == dnsmessage.ClassINET {
		found = w.resolve(ctx, strings.TrimSuffix(strings.ToLower(q.Name.String()), "."))
	}
	reply := dnsmessage.Header{ID: header.ID, Response: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true}
	if len(found) == 0 {
		reply.RCode = dnsmessage.RCodeNameError
	}
	b := dnsmessage.NewBuilder(nil, reply)
	if b.StartQuestions() != nil || b.Question(q) != nil || b.StartAnswers() != nil {
		return nil
	}
	for _, a := range found {
		if q.Type != dnsmessage.TypeA || !a.Is4() {
			continue
		}
		if b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 5}, dnsmessage.AResource{A: a.As4()}) != nil {
			return nil
		}
	}
	out, err := b.Finish()
	if err != nil {
		return nil
	}
	return out
}

func (w *World) resolve(ctx context.Context, name string) []netip.Addr {
	first, _, _ := strings.Cut(name, ".")
	w.mu.Lock()
	for _, m := range w.machines {
		if hostName(m.Address) == first {
			w.mu.Unlock()
			return []netip.Addr{m.Address}
		}
	}
	w.mu.Unlock()
	return w.Names(ctx, name)
}
