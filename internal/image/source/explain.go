package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// explain makes a registry's error one line with what to do about it.
func (c *client) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if l, ok := errors.AsType[late](err); ok {
		return permanent{late{c.explain(l.error), l.wait}}
	}
	if b, ok := errors.AsType[busy](err); ok {
		return busy{c.explain(b.error), b.wait}
	}
	host := c.repo.RegistryStr()
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return permanent{fmt.Errorf("%s has a certificate that nobody known here signed; SSL_CERT_FILE names further authorities", host)}
	}
	if said, ok := errors.AsType[*transport.Error](err); ok {
		return c.refusal(said)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return permanent{fmt.Errorf("there is no host %s", dns.Name)}
	case noTLS(err):
		return permanent{fmt.Errorf("%s does not speak TLS; --plain-http allows that", host)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing answers at %s: %w", host, syscall.ECONNREFUSED)
	}
	return err
}

// noTLS tells whether the other side speaks plain HTTP.
func noTLS(err error) bool {
	_, garbled := errors.AsType[tls.RecordHeaderError](err)
	return garbled || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// refusal says what a registry's answer means.
func (c *client) refusal(said *transport.Error) error {
	host := c.repo.RegistryStr()
	switch said.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return permanent{fmt.Errorf("%s does not let us read it (%s); is the name right? Log in with `docker login %s` or `podman login %s`, or add `machine %s login USER password PASSWORD` to %s",
			host, reason(said), host, host, enrootHosts(c.ref.Host)[0], enrootFile())}
	case http.StatusNotFound:
		return permanent{fmt.Errorf("%w at %s (%s)", ErrNotFound, host, reason(said))}
	case http.StatusTooManyRequests:
		return fmt.Errorf("%s has had too many requests from here (%s); log in, or wait", host, reason(said))
	}
	return fmt.Errorf("%s answers %d (%s)", host, said.StatusCode, reason(said))
}

// reason is what the registry says, in a few words.
func reason(said *transport.Error) string {
	if len(said.Errors) == 0 {
		return strings.ToLower(http.StatusText(said.StatusCode))
	}
	first := said.Errors[0]
	text := cmp.Or(first.Message, string(first.Code))
	return text[:min(len(text), 200)]
}
