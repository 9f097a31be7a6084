package wire

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Protocol is how an AWS service speaks over HTTP.
type Protocol string

// Protocols, by the names that AWS's service models have for them.
const (
	EC2      Protocol = "ec2"
	Query    Protocol = "query"
	Target   Protocol = "json" // X-Amz-Target
	CBOR     Protocol = "smithy-rpc-v2-cbor"
	RestXML  Protocol = "rest-xml"
	RestJSON Protocol = "rest-json"
)

// Take takes a request apart. The body of a call of S3 is left where it is: it may
// be large, and it is nobody's but S3's.
func Take(r *http.Request) (*Call, error) {
	c := &Call{Request: r}
	c.Service, c.Region, c.Key = scope(r)
	if c.Service != "s3" && c.Service != "" {
		if err := c.readBody(); err != nil {
			return nil, err
		}
	}
	c.nameAction()
	if c.Service == "" {
		c.Service = unsigned(c)
	}
	return c, nil
}

func (c *Call) readBody() error {
	body, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return fmt.Errorf("read the body of %s %s: %w", c.Request.Method, c.Request.URL.Path, err)
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body)) // to go on as it came
	c.Request.ContentLength = int64(len(body))
	c.Body = body
	if c.Request.Header.Get("Content-Encoding") != "gzip" {
		return nil
	}
	unzip, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		c.Body, err = io.ReadAll(unzip)
	}
	return err
}

// scope is the service, the region and the key of a request's credential: of its header,
// or of its query if it was signed in advance.
func scope(r *http.Request) (service, region, key string) {
	credential := r.URL.Query().Get("X-Amz-Credential")
	if _, rest, ok := strings.Cut(r.Header.Get("Authorization"), "Credential="); ok {
		credential, _, _ = strings.Cut(rest, ",")
	}
	parts := strings.Split(credential, "/")
	switch {
	case len(parts) == 5: // SigV4: key/date/region/service/aws4_request
		return strings.ToLower(parts[3]), parts[2], parts[0]
	case len(parts) == 4: // SigV4a has no region here
		return strings.ToLower(parts[2]), r.Header.Get("X-Amz-Region-Set"), parts[0]
	}
	return "", "", ""
}

// unsigned guesses the service of a request that nobody signed.
func unsigned(c *Call) string {
	if c.Form != nil {
		return "sts" // AssumeRoleWithWebIdentity and its like
	}
	return "s3"
}

func (c *Call) nameAction() {
	r := c.Request
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		_, c.Action, _ = strings.Cut(target, ".")
		c.Protocol = Target
		return
	}
	if _, operation, ok := strings.Cut(r.URL.Path, "/operation/"); ok && strings.HasPrefix(r.URL.Path, "/service/") {
		c.Action, c.Protocol = operation, CBOR
		return
	}
	if form := c.form(); form.Get("Action") != "" && c.Service != "s3" {
		c.Form, c.Action, c.Protocol = form, form.Get("Action"), Query
		if c.Service == "ec2" {
			c.Protocol = EC2
		}
		return
	}
	c.Action, c.Protocol = r.Method+" "+r.URL.Path, RestJSON
	if c.Service == "s3" || c.Service == "route53" || c.Service == "" {
		c.Protocol = RestXML
	}
}

// form is what a request of the query protocol asks for, in its body or its query.
func (c *Call) form() url.Values {
	if strings.HasPrefix(c.Request.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		if c.Body == nil && c.Service == "" && c.readBody() != nil {
			return nil
		}
		form, _ := url.ParseQuery(string(c.Body)) // what cannot be read has no action
		return form
	}
	return c.Request.URL.Query()
}

// NewCall is a call of the double's own, for a service that speaks the query
// protocol.
func NewCall(service, region string, form url.Values) *Call {
	body := []byte(form.Encode())
	r := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/"}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{
			"Content-Type":  {"application/x-www-form-urlencoded; charset=utf-8"},
			"Authorization": {"AWS4-HMAC-SHA256 Credential=test/20260101/" + region + "/" + service + "/aws4_request, SignedHeaders=host, Signature=0"},
		},
	}
	c := &Call{Service: service, Region: region, Action: form.Get("Action"), Form: form, Body: body, Request: r, Protocol: Query}
	if service == "ec2" {
		c.Protocol = EC2
	}
	return c
}
