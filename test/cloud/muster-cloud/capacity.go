package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/muster-hpc/muster/test/cloud"
)

// controlPath is what no service of AWS has: there the double is told how it is.
const controlPath = "/muster-cloud/capacity"

// controlled lets somebody outside say how many machines of a type there are.
func (b *bridge) controlled(c *cloud.Cloud) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", c)
	mux.HandleFunc("POST "+controlPath, func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("n"))
		if err != nil || r.FormValue("type") == "" {
			http.Error(w, "want a type and a number n", http.StatusBadRequest)
			return
		}
		c.EC2.SetCapacity(r.FormValue("type"), "", n)
	})
	b.reserves(mux, c)
	return mux
}

// setCapacity tells a double how many instances of a type there are, those that run
// counted; below zero for any number.
func setCapacity(ctx context.Context, dir, kind, n string) error {
	_, err := control(ctx, dir, controlPath, url.Values{"type": {kind}, "n": {n}})
	return err
}

// control tells a double something that no service of AWS has, and returns its answer.
func control(ctx context.Context, dir, path string, form url.Values) (string, error) {
	cfg, err := outside(dir)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *cfg.BaseEndpoint+path+"?"+form.Encode(), http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return string(text), err
}
