package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
)

// vault reads secrets of AWS Secrets Manager with the credentials of whoever submits a job, each secret once.
type vault struct {
	// region is the cluster's, where secrets are that do not say theirs; empty leaves it to the environment.
	region   func(context.Context) (string, error)
	accounts map[string]*api.Account
	texts    map[string]string
}

func newVault(region func(context.Context) (string, error)) *vault {
	return &vault{region: region, accounts: map[string]*api.Account{}, texts: map[string]string{}}
}

// vaultWait is how long AWS may take for one secret.
const vaultWait = time.Minute

// read is the value of a secret by its name or ARN, or of one that is JSON the value of a key. Line breaks at its end are
// not part of it.
func (v *vault) read(ctx context.Context, id, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, vaultWait, fmt.Errorf("no answer within %s", vaultWait))
	defer cancel()
	text, known := v.texts[id]
	if !known {
		acc, err := v.account(ctx, id)
		if err != nil {
			return nil, err
		}
		if text, err = acc.Secret(ctx, id); err != nil {
			return nil, err
		}
		v.texts[id] = text
	}
	value, err := keyed([]byte(text), id, key)
	return bytes.TrimRight(value, "\r\n"), err
}

// account is the user's in the region of a secret.
func (v *vault) account(ctx context.Context, id string) (*api.Account, error) {
	region := api.RegionOf(id)
	if region == "" {
		var err error
		if region, err = v.region(ctx); err != nil {
			return nil, fmt.Errorf("find the cluster's region: %w", err)
		}
	}
	if have := v.accounts[region]; have != nil {
		return have, nil
	}
	acc, err := api.OpenOwn(ctx, region)
	if err == nil {
		v.accounts[region] = acc
	}
	return acc, err
}

// pairs are the keys and values of a JSON object, nil where a text is something else.
func pairs(text []byte) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

// keyed is the value of a key of a secret, or all of it where there is no key. Errors have nothing of it but keys.
func keyed(text []byte, id, key string) ([]byte, error) {
	if key == "" {
		return text, nil
	}
	all := pairs(text)
	if all == nil {
		return nil, fmt.Errorf("secret %s is no JSON object, of which Key %q could be a part; without Key it is taken as it is", id, key)
	}
	value, ok := all[key]
	if !ok {
		if near := diag.Nearest(key, slices.Collect(maps.Keys(all))); near != "" {
			return nil, fmt.Errorf("secret %s has no key %q; did you mean %s?", id, key, near)
		}
		return nil, fmt.Errorf("secret %s has no key %q among its %d", id, key, len(all))
	}
	var as any
	if err := json.Unmarshal(value, &as); err != nil {
		return nil, errors.New("the secret is damaged") // JSON's errors quote
	}
	switch as := as.(type) {
	case string:
		return []byte(as), nil
	case float64, bool:
		return value, nil // as it is written
	}
	return nil, fmt.Errorf("key %q of secret %s is neither a text nor a number", key, id)
}

// region is that of the cluster, by its file or by where it is.
func (w where) region(ctx context.Context) (string, error) {
	if n := w.Near(); n != nil {
		if seen, err := n.Sight(); err == nil && seen.File != nil {
			return seen.File.Region, nil
		}
		return "", nil
	}
	at, err := w.S3(ctx)
	return at.Region, err
}

// regionHere is that of the cluster whose head node this is.
func regionHere(context.Context) (string, error) {
	file, problems := spec.Load(services.ClusterFile)
	if file == nil {
		return "", errors.New(strings.TrimSpace(problems.Err().Error()))
	}
	return file.Region, nil
}
