package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// unanswered is the error of a request that got no answer.
type unanswered struct {
	host string
	error
}

func (u unanswered) Unwrap() error { return u.error }

// unansweredBy leaves out what the transport says of the request, which the deed says better.
func unansweredBy(err error) error {
	var request *url.Error
	if !errors.As(err, &request) {
		return unanswered{"", err}
	}
	host := ""
	if at, err := url.Parse(request.URL); err == nil {
		host = at.Host
	}
	return unanswered{host, request.Err}
}

// advised says what may be wrong with the settings, of a place that never answered.
func advised(err error) error {
	cause := err
	if gave, ok := errors.AsType[*gaveUp](err); ok {
		cause = gave.cause
	}
	u, ok := errors.AsType[unanswered](cause)
	switch {
	case !ok || errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded):
		return err
	case withoutTLS(cause):
		return fmt.Errorf("%s speaks no TLS (%w); say http:// in place of https://", u.host, err)
	case distrusted(cause):
		return fmt.Errorf("%w; see whether AWS_CA_BUNDLE names the authority of %s", err, u.host)
	case errors.As(cause, new(*net.DNSError)):
		return fmt.Errorf("%w; see whether the region and the endpoint are right", err)
	}
	return fmt.Errorf("nothing answers at %s: %w; see whether the endpoint is right and its server runs", u.host, err)
}

func withoutTLS(err error) bool {
	return errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, http.ErrSchemeMismatch)
}

func distrusted(err error) bool { return errors.As(err, new(*tls.CertificateVerificationError)) }
