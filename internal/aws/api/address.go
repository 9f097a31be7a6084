package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// addressURL answers with the address from which it is asked.
const addressURL = "https://checkip.amazonaws.com"

const addressLimit = 3 * time.Second

// CallerAddress is the address that this machine has in the internet. AWS is asked
// for it, without credentials.
func CallerAddress(ctx context.Context) (netip.Addr, error) {
	return callerAddress(ctx, addressURL)
}

func callerAddress(ctx context.Context, url string) (netip.Addr, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, addressLimit, fmt.Errorf("no answer within %s", addressLimit))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return netip.Addr{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("ask %s for our address: %w", url, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 100))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("ask %s for our address: %w", url, err)
	}
	address, err := netip.ParseAddr(strings.TrimSpace(string(text)))
	if err != nil || resp.StatusCode != http.StatusOK {
		return netip.Addr{}, fmt.Errorf("ask %s for our address: it answers %s with %q", url, resp.Status, text)
	}
	return address, nil
}
