package join

import (
	"context"
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// KeyPort is where the head node gives the cluster's munge key to its machines. A
// machine without the key has only this proof of its identity: it comes from
// an address of the cluster, and from a port that only root may use. The head node
// answers at such a port, too, so that no user of it can stand in for it.
const KeyPort = 815

const (
	pathKey = "/v1/key"
	// privileged is the first port that every user may take.
	privileged = 1024
	// Ports that machines ask from. Lustre's own are above:
	// https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html
	firstPort, lastPort = 600, 980
	// portTries is how many ports are tried before a pause.
	portTries = 16
	aboutKey  = "muster key 1"
)

// keyRequest has the public half of a pair that was made for this request alone.
type keyRequest struct {
	Public []byte `json:"public"`
}

// keyAnswer is the munge key, sealed so that only the asker can read it.
type keyAnswer struct {
	Sealed []byte `json:"sealed"`
}

// Keys gives the munge key away.
type Keys struct {
	// Member tells whether a machine of the cluster has an address.
	Member func(ctx context.Context, address netip.Addr) (bool, error)
	// Key is the munge key.
	Key func() ([]byte, error)
}

// KeyHandler answers machines that ask for the munge key.
func KeyHandler(k Keys) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathKey, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), handleWait)
		defer cancel()
		status, err := k.mayAsk(ctx, r.RemoteAddr)
		if err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		var request keyRequest
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := k.seal(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // the machine has gone: it asks again
	})
	return mux
}

// mayAsk lets only root of the cluster's machines ask.
func (k Keys) mayAsk(ctx context.Context, from string) (status int, err error) {
	at, err := netip.ParseAddrPort(from)
	if err != nil {
		return http.StatusForbidden, err
	}
	if at.Port() >= privileged {
		return http.StatusForbidden, fmt.Errorf("port %d is one that every user may have: only root is given the key", at.Port())
	}
	member, err := k.Member(ctx, at.Addr().Unmap())
	if err != nil {
		return http.StatusInternalServerError, err
	}
	if !member {
		return http.StatusForbidden, fmt.Errorf("%s is not known as a machine of this cluster yet", at.Addr())
	}
	return 0, nil
}

func (k Keys) seal(request keyRequest) ([]byte, error) {
	public, err := kem().NewPublicKey(request.Public)
	if err != nil {
		return nil, err
	}
	key, err := k.Key()
	if err != nil {
		return nil, err
	}
	sealed, err := hpke.Seal(public, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(aboutKey), key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(keyAnswer{sealed})
}

func kem() hpke.KEM { return hpke.DHKEM(ecdh.X25519()) }

// Key asks the head node for the munge key, again and again until it is given, or
// until ctx ends: the error then says what the last attempt said. Only root can ask.
// Head is the head node's address and KeyPort.
func (c Client) Key(ctx context.Context) ([]byte, error) {
	var key []byte
	err := c.persist(ctx, func() (err error) {
		key, err = c.askKey(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask the head node at %s for the munge key: %w", c.Head, err)
	}
	return key, nil
}

func (c Client) askKey(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	private, err := kem().GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errWrong, err)
	}
	body, err := json.Marshal(keyRequest{private.PublicKey().Bytes()})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errWrong, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.Head+pathKey, strings.NewReader(string(body)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errWrong, err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialAsRoot}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the head node says: %s", strings.TrimSpace(string(text)))
	}
	var answer keyAnswer
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("read the head node's answer: %w", err)
	}
	return hpke.Open(private, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(aboutKey), answer.Sealed)
}

// dialAsRoot connects from a port that only root may use, one that is free.
func dialAsRoot(ctx context.Context, network, address string) (net.Conn, error) {
	var last error
	for range portTries {
		d := net.Dialer{LocalAddr: &net.TCPAddr{Port: firstPort + rand.N(lastPort-firstPort)}, Timeout: 5 * time.Second}
		conn, err := d.DialContext(ctx, network, address)
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return conn, err
		}
		last = err
	}
	return nil, last
}
