package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/muster-hpc/muster/internal/sys/heed"
)

// credentials finds who we are to a registry: in the files that were given, in
// that of docker login and its helpers, in that of podman login, in Enroot's, and
// for Amazon's registries from AWS. If the reference names a user, only that
// user's count. Any of the files may be a pipe.
func credentials(ctx context.Context, ref Ref, repo name.Repository, files []string) (authn.Authenticator, error) {
	for _, find := range []func() (authn.Authenticator, error){
		func() (authn.Authenticator, error) { return fromFiles(files, ref, false) },
		func() (authn.Authenticator, error) { return fromDocker(ctx, ref, repo) },
		func() (authn.Authenticator, error) { return fromFiles(podmanFiles(), ref, true) },
		func() (authn.Authenticator, error) { return fromEnroot(ref) },
	} {
		var auth authn.Authenticator
		err := heed.Call(ctx, func() (err error) {
			auth, err = find()
			return err
		})
		if err != nil {
			return nil, err
		}
		if auth != nil {
			return auth, nil
		}
	}
	if ref.User != "" && ref.User != "AWS" {
		return nil, fmt.Errorf("there is no password for %s; log in with `docker login -u %s %s`, or add `machine %s login %s password PASSWORD` to %s",
			ref.User, ref.User, ref.Host, enrootHosts(ref.Host)[0], ref.User, enrootFile())
	}
	if at, ok := ecrHost(ref.Host); ok {
		return newECR(at), nil
	}
	return authn.Anonymous, nil
}

// fromDocker asks docker login's file and its credential helpers.
func fromDocker(ctx context.Context, ref Ref, repo name.Repository) (authn.Authenticator, error) {
	auth, err := authn.Resolve(ctx, authn.DefaultKeychain, repo)
	if err != nil {
		return nil, fmt.Errorf("look for credentials for %s in Docker's files: %w", ref.Host, err)
	}
	if auth == authn.Anonymous {
		return nil, nil
	}
	config, err := authn.Authorization(ctx, auth)
	if err != nil {
		return nil, fmt.Errorf("look for credentials for %s in Docker's files: %w", ref.Host, err)
	}
	if *config == (authn.AuthConfig{}) || ref.User != "" && config.Username != ref.User {
		return nil, nil
	}
	return auth, nil
}

// podmanFiles are where podman login may have left its credentials, in the order
// in which Podman looks.
func podmanFiles() []string {
	var files []string
	if f := os.Getenv("REGISTRY_AUTH_FILE"); f != "" {
		files = append(files, f)
	}
	if d := os.Getenv("XDG_RUNTIME_DIR"); d != "" {
		files = append(files, filepath.Join(d, "containers", "auth.json"))
	}
	files = append(files, fmt.Sprintf("/run/containers/%d/auth.json", os.Getuid()))
	if d, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(d, "containers", "auth.json"))
	}
	return files
}

// fromFiles looks into files of Docker's or Podman's form. Absent says that they
// need not be there.
func fromFiles(files []string, ref Ref, absent bool) (authn.Authenticator, error) {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if absent && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for credentials for %s: %w", ref.Host, err)
		}
		config, err := loginIn(data, ref)
		if err != nil {
			return nil, fmt.Errorf("look for credentials for %s in %s: %w", ref.Host, file, err)
		}
		if config != nil {
			return authn.FromConfig(*config), nil
		}
	}
	return nil, nil
}

// loginIn finds the entry for the longest part of the image's path.
func loginIn(data []byte, ref Ref) (*authn.AuthConfig, error) {
	var file struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	for _, host := range enrootHosts(ref.Host) {
		for key := host + "/" + ref.Repository; ; key = key[:strings.LastIndex(key, "/")] {
			if raw, ok := file.Auths[key]; ok {
				var config authn.AuthConfig
				if err := json.Unmarshal(raw, &config); err != nil {
					return nil, fmt.Errorf("the entry of %s: %w", key, err)
				}
				if config != (authn.AuthConfig{}) && (ref.User == "" || ref.User == config.Username) {
					return &config, nil
				}
			}
			if !strings.Contains(key, "/") {
				break
			}
		}
	}
	return nil, nil
}
