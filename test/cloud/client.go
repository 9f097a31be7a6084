package cloud

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// mostHeld is how large a request may be that is held whole.
const mostHeld = 1 << 20

// steady is the transport of clients in this process. The SDK takes a request's body
// away as soon as the answer begins. The double begins to answer so fast that
// net/http may not have noticed yet that the body ended; it then takes the body for
// broken and closes the connection in the middle of the answer. Here the body is out
// of the SDK's reach. Other processes have Options.Pause.
type steady struct{ *http.Transport }

func (s steady) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.ContentLength <= 0 || r.ContentLength > mostHeld {
		return s.Transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	_ = r.Body.Close() // it has been read
	held := r.Clone(r.Context())
	held.Body = io.NopCloser(bytes.NewReader(body))
	return s.Transport.RoundTrip(held)
}

// Transport is for clients of the SDK that have not their configuration from here.
func Transport() http.RoundTripper {
	return steady{http.DefaultTransport.(*http.Transport).Clone()}
}
