package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/sys/heed"
)

// Forward leads builders of this machine to a cluster's registry, which is in a network
// that they are not in: a port of the loopback, and files that say where it leads and
// with which account. It ends with Close, and with the process.
type Forward struct {
	// Address is the port's.
	Address string
	socket  net.Listener
	dir     string
	// lock says that the directory is in use, as long as this process lives.
	lock *os.File
}

// ForwardRegistry opens one. The context is for what it reads until then: the user's own
// files may be pipes.
func ForwardRegistry(ctx context.Context, l *nodes.Layout) (*Forward, error) {
	socket, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for builders: %w", err)
	}
	f := &Forward{Address: socket.Addr().String(), socket: socket}
	err = SweepForwards(l)
	if err == nil {
		f.dir, f.lock, err = forwardPlace(l.Path("etc"))
	}
	if err == nil {
		err = f.write(ctx, l)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	go f.serve(context.WithoutCancel(ctx), l.Dir) // until it is closed
	return f, nil
}

// Close ends it.
func (f *Forward) Close() error {
	err := f.socket.Close()
	if f.dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(f.dir), f.lock.Close())
}

// Env has buildah, podman and skopeo know the registry by its own address.
func (f *Forward) Env() []string {
	return []string{"CONTAINERS_REGISTRIES_CONF=" + f.ConfFile(), "REGISTRY_AUTH_FILE=" + f.AuthFile()}
}

// ConfFile says where the registry is, AuthFile has the account.
func (f *Forward) ConfFile() string { return filepath.Join(f.dir, "registries.conf") }

// AuthFile has the user's own accounts, too.
func (f *Forward) AuthFile() string { return filepath.Join(f.dir, "auth.json") }

func (f *Forward) serve(ctx context.Context, dir string) {
	for {
		conn, err := f.socket.Accept()
		if err != nil {
			return // it is closed
		}
		go func() {
			defer conn.Close()
			registry, said, err := Connect(ctx, dir, registryService)
			if err != nil {
				return // the builder sees the connection end
			}
			defer registry.Close()
			controller.Join(registry, said, conn)
		}()
	}
}

func (f *Forward) write(ctx context.Context, l *nodes.Layout) error {
	own, err := os.ReadFile(l.Path("etc", "muster", filepath.Base(services.RegistryFile)))
	if err != nil {
		return fmt.Errorf("read the account of the cluster's registry: %w", err)
	}
	users, err := firstFile(ctx, authFiles())
	if err != nil {
		return err
	}
	auth, err := withAccount(users, own, f.Address)
	if err != nil {
		return err
	}
	conf, err := firstFile(ctx, confFiles())
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(f.AuthFile(), auth, 0o600), os.WriteFile(f.ConfFile(), []byte(withRegistry(string(conf), f.Address)), 0o600))
}

// authFiles and confFiles are where builders look, the first first.
func authFiles() []string {
	home, _ := os.UserHomeDir()
	return []string{os.Getenv("REGISTRY_AUTH_FILE"), filepath.Join(cmp.Or(os.Getenv("XDG_RUNTIME_DIR"), "/nowhere"), "containers", "auth.json"),
		filepath.Join(home, ".config", "containers", "auth.json"), filepath.Join(home, ".docker", "config.json")}
}

func confFiles() []string {
	home, _ := os.UserHomeDir()
	return []string{os.Getenv("CONTAINERS_REGISTRIES_CONF"), filepath.Join(home, ".config", "containers", "registries.conf"), "/etc/containers/registries.conf"}
}

// firstFile is the text of the first file that is there, empty where none is.
func firstFile(ctx context.Context, paths []string) ([]byte, error) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		text, err := readUsers(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look how builders reach registries: %w", err)
		}
		return text, nil
	}
	return nil, nil
}

func readUsers(ctx context.Context, path string) ([]byte, error) {
	f, err := heed.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// withAccount adds the registry's account to the user's, for its own address and the
// port's.
func withAccount(users, own []byte, address string) ([]byte, error) {
	var account struct{ Auths map[string]json.RawMessage }
	if err := json.Unmarshal(own, &account); err != nil {
		return nil, fmt.Errorf("read the account of the cluster's registry: %w", err)
	}
	all := map[string]json.RawMessage{}
	auths := map[string]json.RawMessage{}
	if len(users) > 0 {
		if err := json.Unmarshal(users, &all); err != nil {
			return nil, fmt.Errorf("read your accounts of registries: %w", err)
		}
	}
	if len(all["auths"]) > 0 {
		if err := json.Unmarshal(all["auths"], &auths); err != nil {
			return nil, fmt.Errorf("read your accounts of registries: %w", err)
		}
	}
	auths[RegistryAddress()] = account.Auths[RegistryAddress()]
	auths[address] = account.Auths[RegistryAddress()]
	text, err := json.Marshal(auths)
	if err != nil {
		return nil, err
	}
	all["auths"] = text
	return json.Marshal(all)
}

// withRegistry adds to a registries.conf where the registry is.
func withRegistry(conf, address string) string {
	if conf != "" {
		conf = strings.TrimRight(conf, "\n") + "\n\n"
	}
	return conf + fmt.Sprintf(`[[registry]]
prefix = %[1]q
location = %[2]q
insecure = true

[[registry]]
location = %[2]q
insecure = true
`, RegistryAddress(), address)
}
