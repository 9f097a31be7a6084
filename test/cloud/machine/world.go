// Package machine boots what the double of AWS launches: machines in namespaces of
// this one, from their real user data, with a metadata service, a resolver and
// mounts. It runs as the first process of a process namespace, so that nothing
// outlives it.
package machine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/machine"
)

// Instance is a machine as EC2 launched it.
type Instance struct {
	ID, Type, Image string
	Region, Zone    string
	Address, Public netip.Addr
	UserData        []byte
	// User is the image's default user, who has PublicKey, a line as in
	// authorized_keys. Without one, nobody can log in.
	User, PublicKey string
	// Role is the name of the role of its instance profile.
	Role        string
	LaunchIndex int
	Tags        map[string]string
	// TagsInMetadata is InstanceMetadataTags.
	TagsInMetadata bool
	// GPUs is how many devices of that kind the type has.
	GPUs int
}

// Config is what a world is made with.
type Config struct {
	// Dir is an empty directory, on a file system on which files can be changed in place.
	Dir string
	// Network is the VPC's. Its first address is the router's, and the double's.
	Network netip.Prefix
	// Endpoint is the double's URL as machines see it.
	Endpoint string
	// Program is this program's path: the machines' mount helpers call it.
	Program string
	// FileSystem is the state of the file system that machines mount from a source
	// such as fs-1.fsx.us-east-2.amazonaws.com@tcp:/abcd: its id, or why it cannot be
	// mounted.
	FileSystem func(ctx context.Context, source string) (id string, err error)
	// Names resolves a host name, as the VPC's resolver does.
	Names func(ctx context.Context, name string) []netip.Addr
	// Ended is told of a machine that shut itself down.
	Ended func(id string)
	Log   *slog.Logger
}

// World is a network with machines. New makes one.
type World struct {
	Config
	network machine.Network
	router  netip.Addr

	mu       sync.Mutex // guards what follows
	machines map[string]*booted
	disks    map[string][]*disk // by instance
}

// booted is a machine that runs.
type booted struct {
	Instance
	pid    int
	doomed bool // it was told to end
}

// Metadata is the address of the metadata service, Resolver that of the VPC's DNS:
// EC2's own.
var (
	Metadata = netip.MustParseAddr("169.254.169.254")
	Resolver = netip.MustParseAddr("169.254.169.253")
)

// New makes the network and its services, which end with ctx. It must be called in
// the namespaces that Enter made.
func New(ctx context.Context, c Config) (*World, error) {
	w := &World{Config: c, network: machine.Network(c.Network), router: c.Network.Masked().Addr().Next(), machines: map[string]*booted{}, disks: map[string][]*disk{}}
	roots := filepath.Join(c.Dir, "roots")
	if err := os.MkdirAll(roots, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", roots, "tmpfs", unix.MS_NODEV, "mode=755,size=50%"); err != nil {
		return nil, fmt.Errorf("mount machines' roots: %w", err)
	}
	if err := w.network.MakeBridge(w.router); err != nil {
		return nil, err
	}
	for _, a := range []netip.Addr{Metadata, Resolver} {
		if err := addAddress(a); err != nil {
			return nil, err
		}
	}
	return w, errors.Join(w.serveMetadata(ctx), w.serveNames(ctx))
}

// Close ends all machines and forgets their roots.
func (w *World) Close() error {
	w.mu.Lock()
	var ids []string
	for id := range w.machines {
		ids = append(ids, id)
	}
	w.mu.Unlock()
	var errs []error
	for _, id := range ids {
		errs = append(errs, w.Terminate(id))
	}
	return errors.Join(append(errs, unix.Unmount(filepath.Join(w.Dir, "roots"), unix.MNT_DETACH))...)
}

// Router is the address of the double in its machines' network.
func (w *World) Router() netip.Addr { return w.router }

func (w *World) serveMetadata(ctx context.Context) error {
	l, err := net.Listen("tcp", netip.AddrPortFrom(Metadata, 80).String())
	if err != nil {
		return fmt.Errorf("serve metadata: %w", err)
	}
	server := &http.Server{Handler: w.metadata()}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() { _ = server.Serve(l) }() // ends with the process at the latest
	return nil
}

// of is the machine with an address.
func (w *World) of(address string) *booted {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.machines {
		if m.Address == a.Addr() {
			return m
		}
	}
	return nil
}

// Console is the file with what a machine said.
func (w *World) Console(id string) string { return filepath.Join(w.Dir, "console", id+".log") }

// PID is the process ID of a machine's first process, 0 if it does not run.
func (w *World) PID(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.machines[id]; m != nil {
		return m.pid
	}
	return 0
}
