package cloud

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// askMoto passes a call of the double's own, or a changed one, on to moto.
func (c *Cloud) askMoto(ctx context.Context, call *wire.Call) (*wire.Answer, error) {
	base, err := c.moto.URL()
	if err != nil {
		return nil, err
	}
	response, err := pass(ctx, base, call)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read moto's answer to %s %s: %w", call.Service, call.Action, err)
	}
	if gaveUp(call, response) {
		return wire.Missing("%s", c.moto.Why()), nil
	}
	return &wire.Answer{Status: response.StatusCode, Type: response.Header.Get("Content-Type"), Body: body, Moto: true}, nil
}

// gaveUp tells whether moto's answer says that it cannot answer: 500 for a call that
// it lacks or fails at, 404 in HTML for a path that it does not know.
func gaveUp(c *wire.Call, r *http.Response) bool {
	html := strings.HasPrefix(r.Header.Get("Content-Type"), "text/html")
	return r.StatusCode >= 500 || html && c.Service != "s3" && r.StatusCode >= 400
}

// Direct is a configuration for clients of moto itself, past the double. The double
// is compared with it.
func (c *Cloud) Direct() (aws.Config, error) {
	base, err := c.moto.URL()
	config := c.Config()
	config.BaseEndpoint = aws.String(base)
	return config, err
}
