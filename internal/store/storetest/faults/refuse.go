package faults

import (
	"net/http"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	tokenHeader = "X-Amz-Security-Token"
	dateHeader  = "X-Amz-Date"
	dateForm    = "20060102T150405Z"
	mostSkew    = 15 * time.Minute // between S3's clock and the client's
)

// refuses answers what the server itself would refuse: by its clock, and by the age of credentials.
func (p *Proxy) refuses(w *noted, r *http.Request) bool {
	p.mu.Lock()
	expired, skew := p.expired[r.Header.Get(tokenHeader)], p.skew
	p.mu.Unlock()
	p.tell(w.Header())
	if expired {
		refuse(w, r, http.StatusBadRequest, "ExpiredToken")
		return true
	}
	if skew == 0 {
		return false
	}
	signed, err := time.Parse(dateForm, r.Header.Get(dateHeader))
	if off := time.Now().Add(skew).Sub(signed); err != nil || off.Abs() > mostSkew {
		refuse(w, r, http.StatusForbidden, "RequestTimeTooSkewed")
		return true
	}
	return false
}

// tell sets the date of an answer to the server's.
func (p *Proxy) tell(h http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.skew != 0 {
		h.Set("Date", time.Now().Add(p.skew).UTC().Format(http.TimeFormat))
	}
}

// sign signs a request again for the server where the client's signature is not good for it: by its time, by its length, or by a
// token, which is known here alone.
func (p *Proxy) sign(r *http.Request, f Fault) error {
	p.mu.Lock()
	skew, deaf := p.skew, p.deaf
	p.mu.Unlock()
	if deaf == Hears && skew == 0 && f.Kind != CutRequest && r.Header.Get(tokenHeader) == "" {
		return nil
	}
	r.Header.Del("Content-Length")
	r.Header.Del(tokenHeader)
	return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
		SignHTTP(r.Context(), p.signer, r, r.Header.Get("X-Amz-Content-Sha256"), "s3", p.region, time.Now())
}
