package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/muster-hpc/muster/internal/sys/pause"
)

// client speaks to one repository of a registry.
type client struct {
	ref  Ref
	repo name.Repository
	http *http.Client
	o    Options
}

func openRegistry(ctx context.Context, ref Ref, want Platform, o Options) (*Image, error) {
	c, err := dial(ctx, ref, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	img, err := c.image(ctx, want)
	if err != nil {
		c.http.CloseIdleConnections()
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	img.Reference = ref.String()
	img.close = func() error { c.http.CloseIdleConnections(); return nil }
	return img, nil
}

// dial says hello to a registry and logs in as it asks for.
func dial(ctx context.Context, ref Ref, o Options) (*client, error) {
	var options []name.Option
	if o.PlainHTTP {
		options = append(options, name.Insecure)
	}
	repo, err := name.NewRepository(ref.Host+"/"+ref.Repository, options...)
	if err != nil {
		return nil, err
	}
	auth, err := credentials(ctx, ref, repo, o.AuthFiles)
	if err != nil {
		return nil, err
	}
	c := &client{ref: ref, repo: repo, o: o}
	err = c.again(ctx, func() error {
		tr, err := transport.NewWithContext(ctx, repo.Registry, auth, baseTransport(), []string{repo.Scope(transport.PullScope)})
		c.http = &http.Client{Transport: tr, CheckRedirect: checkRedirect}
		return err
	})
	return c, c.explain(err)
}

// baseTransport has limits on everything but the time that a body takes, which
// download watches.
func baseTransport() http.RoundTripper {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConnsPerHost:   8,
		ForceAttemptHTTP2:     true,
		// Layers are to come as they are stored.
		DisableCompression: true,
		WriteBufferSize:    4 << 10,
		ReadBufferSize:     64 << 10,
	}
}

// checkRedirect lets registries send us to where their blobs are, but not back
// from TLS to none, and not into a private network from outside. Credentials do
// not go along: the transport gives them to the registry's own name only.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case len(via) >= 10:
		return permanent{errors.New("it redirects more than 10 times")}
	case first.Scheme == "https" && req.URL.Scheme != "https":
		return permanent{fmt.Errorf("it redirects to %s, without TLS", req.URL.Host)}
	case req.URL.Hostname() != first.Hostname() && private(req.URL.Hostname()) && !private(first.Hostname()):
		return permanent{fmt.Errorf("it redirects to %s, an address of a private network", req.URL.Host)}
	}
	return nil
}

// private tells whether a host is an address of this machine or its networks.
func private(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified())
}

func (c *client) image(ctx context.Context, want Platform) (*Image, error) {
	d, err := c.manifest(ctx, cmp.Or(c.ref.Digest, c.ref.Tag))
	if err != nil {
		return nil, err
	}
	d, err = imageOf(ctx, d, want, func(ctx context.Context, d v1.Descriptor) (document, error) {
		return c.manifest(ctx, d.Digest.String())
	})
	if err != nil {
		return nil, err
	}
	return newImage(ctx, d, want, c.blob)
}

// accepted are the media types of manifests, in the order in which we like them.
var accepted = strings.Join([]string{
	string(types.OCIImageIndex), string(types.DockerManifestList),
	string(types.OCIManifestSchema1), string(types.DockerManifestSchema2),
}, ", ")

// manifest gets a manifest or an index by its tag or digest.
func (c *client) manifest(ctx context.Context, at string) (document, error) {
	var d document
	err := c.again(ctx, func() error {
		resp, err := c.get(ctx, "manifests", at, map[string]string{"Accept": accepted})
		if err != nil {
			return err
		}
		body := stallReader(resp.Body, c.o.stall())
		defer body.Close()
		data, err := readLimited(body, maxManifest)
		if err != nil {
			return fmt.Errorf("read its manifest: %w", err)
		}
		if strings.HasPrefix(at, "sha256:") && digestOf(data) != at {
			return permanent{fmt.Errorf("the digest of its manifest should be %s and is %s", at, digestOf(data))}
		}
		d, err = newDocument(data, resp.Header.Get("Content-Type"))
		if err != nil {
			return permanent{err}
		}
		return nil
	})
	return d, c.explain(err)
}

// blob reads a blob, as often as it takes.
func (c *client) blob(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	return newDownload(ctx, d.Size, c.o, func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		body, err := c.blobFrom(ctx, d, offset)
		return body, c.explain(err)
	}), nil
}

// blobFrom reads a blob from an offset on. From a server that knows no ranges it
// drops what comes before.
func (c *client) blobFrom(ctx context.Context, d v1.Descriptor, offset int64) (io.ReadCloser, error) {
	header := map[string]string{}
	if offset > 0 {
		header["Range"] = fmt.Sprintf("bytes=%d-%d", offset, d.Size-1)
	}
	resp, err := c.get(ctx, "blobs", d.Digest.String(), header)
	if err != nil {
		return nil, err
	}
	skip, err := toSkip(resp, d.Size, offset)
	if err != nil {
		resp.Body.Close()
		return nil, permanent{err}
	}
	if _, err := io.CopyN(io.Discard, stallReader(resp.Body, c.o.stall()), skip); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp.Body, nil
}

// toSkip is how many bytes of an answer come before the offset that was asked for.
func toSkip(resp *http.Response, size, offset int64) (int64, error) {
	if resp.StatusCode != http.StatusPartialContent {
		if n := resp.ContentLength; n >= 0 && n != size {
			return 0, fmt.Errorf("it should have %d bytes and has %d", size, n)
		}
		return offset, nil
	}
	var first, last, all int64
	said := resp.Header.Get("Content-Range")
	if _, err := fmt.Sscanf(said, "bytes %d-%d/%d", &first, &last, &all); err != nil {
		// The size may be a star, and some registries leave the range out.
		if _, err := fmt.Sscanf(said, "bytes %d-", &first); err != nil {
			return 0, fmt.Errorf("asked for its bytes from %d on, the registry answered with %q", offset, said)
		}
		all = size
	}
	if first != offset || all != size {
		return 0, fmt.Errorf("asked for its bytes from %d on of %d, the registry answered with %q", offset, size, said)
	}
	return 0, nil
}

// get asks the registry for something of the repository.
func (c *client) get(ctx context.Context, kind, at string, header map[string]string) (*http.Response, error) {
	at = fmt.Sprintf("%s://%s/v2/%s/%s/%s", c.repo.Scheme(), c.repo.RegistryStr(), c.repo.RepositoryStr(), kind, at)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if err := transport.CheckError(resp, http.StatusOK, http.StatusPartialContent); err != nil {
		resp.Body.Close()
		return nil, asBusy(resp, time.Now(), err)
	}
	return resp, nil
}

// again does something until it works or trying again is of no use.
func (c *client) again(ctx context.Context, do func() error) error {
	for tries := 0; ; {
		err := do()
		if err == nil || final(err) || ctx.Err() != nil {
			return err
		}
		if tries += cost(err); tries >= maxTries {
			return err
		}
		wait, hopeless := c.o.pause(tries, err)
		if hopeless != nil {
			return hopeless
		}
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
	}
}

// final tells errors that come again when the same is tried again.
func final(err error) bool {
	if _, ok := errors.AsType[permanent](err); ok {
		return true
	}
	if said, ok := errors.AsType[*transport.Error](err); ok {
		return !said.Temporary() && said.StatusCode < 500 && said.StatusCode != http.StatusTooManyRequests
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.IsNotFound
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED) || noTLS(err)
}
