package formation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"
)

// plainClient calls services of the query protocol for which the program has no
// client of its own: load balancers, scaling groups, topics.
type plainClient struct{ cfg aws.Config }

// query is a service of the query protocol.
type query struct{ service, signing, version string }

var (
	balancing = query{"ElasticLoadBalancingV2", "elasticloadbalancing", "2015-12-01"}
	scaling   = query{"AutoScaling", "autoscaling", "2011-01-01"}
)

// element is an element of an answer.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

// find is the first element of a name, in depth, with its text.
func (e *element) find(name string) string {
	for i := range e.Children {
		if e.Children[i].XMLName.Local == name {
			return strings.TrimSpace(e.Children[i].Text)
		}
		if got := e.Children[i].find(name); got != "" {
			return got
		}
	}
	return ""
}

// call makes a request whose parameters are properties by their names.
func (c *plainClient) call(ctx context.Context, q query, action string, params map[string]any) (*element, error) {
	form := url.Values{"Action": {action}, "Version": {q.version}}
	flatten(form, "", params)
	endpoint := "https://" + q.signing + "." + c.cfg.Region + ".amazonaws.com"
	if c.cfg.BaseEndpoint != nil {
		endpoint = *c.cfg.BaseEndpoint
	}
	body := []byte(form.Encode())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	who, err := c.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, who, req, hex.EncodeToString(sum[:]), q.signing, c.cfg.Region, time.Now()); err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var answer element
	if err := xml.Unmarshal(b, &answer); err != nil {
		return nil, fmt.Errorf("%s %s: status %d: %w", q.service, action, resp.StatusCode, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, &smithy.OperationError{ServiceID: q.service, OperationName: action,
			Err: &smithy.GenericAPIError{Code: answer.find("Code"), Message: answer.find("Message")}}
	}
	return &answer, nil
}

// flatten writes structures and lists as the query protocol does: A.member.1.B=c.
func flatten(form url.Values, at string, v any) {
	join := func(name string) string { return strings.TrimPrefix(at+"."+name, ".") }
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			flatten(form, join(name), v[name])
		}
	case []any:
		for i, e := range v {
			flatten(form, join(fmt.Sprintf("member.%d", i+1)), e)
		}
	default:
		form.Set(at, text(v))
	}
}

// tagsOf are tags as lists of the query protocol.
func tagsOf(tags map[string]string) []any {
	var out []any
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, map[string]any{"Key": key, "Value": tags[key]})
	}
	return out
}
