package main

import (
	"errors"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// awsDomains are the domains of AWS's services.
var awsDomains = []string{"amazonaws.com", "amazonaws.com.cn", "api.aws"}

// ofAWS tells whether a name, without a last dot, is one of AWS's.
func ofAWS(name string) bool {
	for _, d := range awsDomains {
		if strings.HasSuffix(strings.ToLower(name), "."+d) {
			return true
		}
	}
	return false
}

// nameSeconds is how long somebody may keep an answer.
const nameSeconds = 60

// answerNames is a cluster's resolver: names of AWS lead to one address, and all others are not there, which it says
// at once. Machines know each other by a file.
func answerNames(at net.PacketConn, here netip.Addr) {
	question := make([]byte, 1500)
	for {
		n, from, err := at.ReadFrom(question)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if answer := answerName(question[:n], here); answer != nil {
			_, _ = at.WriteTo(answer, from) // who gets none asks again
		}
	}
}

// answerName is the answer to a question, nil if it is none.
func answerName(question []byte, here netip.Addr) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(question)
	if err != nil || head.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	head = dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true, OpCode: head.OpCode, RecursionDesired: head.RecursionDesired, RecursionAvailable: true}
	known := ofAWS(strings.TrimSuffix(q.Name.String(), "."))
	switch {
	case head.OpCode != 0:
		head.RCode = dnsmessage.RCodeNotImplemented
	case !known:
		head.RCode = dnsmessage.RCodeNameError
	}
	b := dnsmessage.NewBuilder(nil, head)
	b.EnableCompression()
	err = errors.Join(b.StartQuestions(), b.Question(q), b.StartAnswers())
	if head.RCode == dnsmessage.RCodeSuccess && q.Type == dnsmessage.TypeA && q.Class == dnsmessage.ClassINET {
		err = errors.Join(err, b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: nameSeconds}, dnsmessage.AResource{A: here.As4()}))
	}
	answer, end := b.Finish()
	if errors.Join(err, end) != nil {
		return nil
	}
	return answer
}
