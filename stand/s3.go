package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3log"
	"golang.org/x/sys/unix"
)

const (
	maxConnections = 4096
	maxRequests    = 1024
	maxParts       = 10000
	maxActions     = 128             // file-system calls at a time: each may hold a thread
	bufferBytes    = 256 << 10       // for each body that is being copied
	copyBytes      = 5 << 30         // the largest object that one call copies, as S3 has it (API reference, CopyObject)
	memoryBytes    = 96 << 20        // the garbage collector works harder above it
	garbagePercent = 200             // of what is in use, which is little: what requests leave behind goes less often then
	minThreads     = 8               // at Go's code at a time: one that waits for the disk keeps its place for a while
	goodbye        = 2 * time.Second // for requests that are being answered when the end comes
	portTries      = 10
	hostStyle      = "s3." // what stands behind a bucket in BUCKET.s3.REGION.amazonaws.com and BUCKET.s3.amazonaws.com
)

// serveS3 serves the S3 protocol on files below the root until ctx ends. An answer to an upload means that the object
// is on the disk.
func serveS3(ctx context.Context, o s3Options) error {
	debug.SetMemoryLimit(memoryBytes)
	debug.SetGCPercent(garbagePercent)
	runtime.GOMAXPROCS(max(minThreads, runtime.GOMAXPROCS(0)))
	account, err := readCredentials(o.Credentials)
	if err != nil {
		return err
	}
	if o, err = absolute(o); err != nil {
		return err
	}
	unlock, err := lockRoot(o.Root)
	if err != nil {
		return err
	}
	defer unlock()
	be, err := openBackend(o.Root)
	if err != nil {
		return err
	}
	defer be.Shutdown()
	if err := makeBuckets(ctx, be, o, account.AccessKey); err != nil {
		return err
	}
	srv, ready, err := newServer(be, o, account)
	if err != nil {
		return err
	}
	return serve(ctx, o, srv, ready)
}

// serve binds the address and answers until ctx ends.
func serve(ctx context.Context, o s3Options, srv *s3api.S3ApiServer, ready <-chan struct{}) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	started := time.Now()
	entrance, err := bindDoor(o) // first: who finds the server finds this, too
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	bound := make(chan netip.AddrPort, 1)
	failed := make(chan error, 1)
	wg.Go(func() { failed <- listen(srv, o.Listen, bound) })
	select {
	case err := <-failed:
		return err
	case <-ready:
	}
	defer stop(srv, log)
	address := <-bound
	if err := writeAddress(o.AddressFile, address); err != nil {
		return err
	}
	wg.Go(func() { entrance.serve(ctx, address) })
	log.Info("s3 serves", "address", address.String(), "root", o.Root, "buckets", len(o.Buckets))
	wg.Go(func() {
		if err := sweep(ctx, o.Root, started); err != nil && ctx.Err() == nil {
			log.Warn("sweep unfinished uploads", "root", o.Root, "cause", err)
		}
	})
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// newServer is the S3 front of the backend. The channel closes when the server accepts requests.
func newServer(be backend.Backend, o s3Options, account credentials) (*s3api.S3ApiServer, <-chan struct{}, error) {
	ready := make(chan struct{})
	opts := []s3api.Option{
		s3api.WithQuiet(),
		s3api.WithKeepAlive(),
		s3api.WithHealth("/health"),
		s3api.WithMpMaxParts(maxParts),
		s3api.WithConcurrencyLimiter(maxConnections, maxRequests),
		s3api.WithOnListen(func() { close(ready) }),
		s3api.WithHostStyle(hostStyle),
	}
	var access s3log.AuditLogger
	if o.AccessLog != "" {
		l, err := s3log.InitFileLogger(o.AccessLog)
		if err != nil {
			return nil, nil, fmt.Errorf("open access log %s: %w", o.AccessLog, err)
		}
		access = l
	} else { // the log tells how long answers are, and does not see what becomes of them later
		opts = append(opts, s3api.WithMiddleware("/", byHand))
	}
	root := auth.Account{Access: account.AccessKey, Secret: account.SecretKey, Role: auth.RoleAdmin}
	accounts := auth.NewIAMServiceSingle(root)
	user := middlewares.RootUserConfig{Access: account.AccessKey, Secret: account.SecretKey}
	srv, err := s3api.New(be, user, o.Region, accounts, access, nil, nil, nil, opts...)
	return srv, ready, err
}

func openBackend(root string) (exact, error) {
	attrs, err := attributes(root)
	if err != nil {
		return exact{}, err
	}
	be, err := posix.New(root, attrs, posix.PosixOpts{
		Concurrency:         maxActions,
		IOBufferSize:        bufferBytes,
		ForceNoObjLockFile:  true,
		CopyObjectThreshold: copyBytes,
	})
	if err != nil {
		return exact{}, fmt.Errorf("open the root %s: %w", root, err)
	}
	return exact{newDurable(be, attrs, root, syncPath)}, nil
}

// absolute makes the root and all paths absolute: the backend changes the working directory.
func absolute(o s3Options) (s3Options, error) {
	for _, p := range []*string{&o.Root, &o.AddressFile, &o.AccessLog, &o.Authority} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return o, err
		}
		*p = abs
	}
	if err := os.MkdirAll(o.Root, 0o755); err != nil {
		return o, fmt.Errorf("make the root: %w", err)
	}
	return o, nil
}

// lockRoot makes sure that this is the only server of the root. The lock ends with the process, however it ends.
func lockRoot(root string) (unlock func() error, err error) {
	f, err := os.Open(root)
	if err != nil {
		return nil, fmt.Errorf("open the root: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errors.New("another server uses it")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the root %s: %w", root, err), f.Close())
	}
	return f.Close, nil
}

// listen serves until the server is stopped. The server binds for itself and does not tell the port, so a free one is
// found first and, should somebody else take it meanwhile, another one.
func listen(srv *s3api.S3ApiServer, want netip.AddrPort, bound chan netip.AddrPort) error {
	for try := 1; ; try++ {
		addr, err := freePort(want)
		if err != nil {
			return err
		}
		bound <- addr
		err = srv.ServeMultiPort([]string{addr.String()})
		if err == nil {
			return nil
		}
		if want.Port() != 0 || try == portTries || !errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("listen on %s: %w", addr, reason(err))
		}
		<-bound
	}
}

// freePort fills in a free port where none is asked for.
func freePort(want netip.AddrPort) (netip.AddrPort, error) {
	if want.Port() != 0 {
		return want, nil
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(want))
	if err != nil {
		return want, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return netip.AddrPortFrom(want.Addr(), l.Addr().(*net.TCPAddr).AddrPort().Port()), nil
}

// reason is the system's own reason of a network error, if it has one.
func reason(err error) error {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}

// writeAddress makes the file appear whole, so that who waits for it never reads half an address.
func writeAddress(path string, addr netip.AddrPort) error {
	if path == "" {
		return nil
	}
	beside := path + ".tmp"
	if err := os.WriteFile(beside, []byte(addr.String()+"\n"), 0o644); err != nil {
		return fmt.Errorf("write the address: %w", err)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("write the address: %w", err)
	}
	return nil
}

// stop lets answers finish that are under way, for a moment.
func stop(srv *s3api.S3ApiServer, log *slog.Logger) {
	done := make(chan error, 1)
	go func() { done <- srv.ShutDown() }()
	select {
	case <-done:
	case <-time.After(goodbye):
		log.Warn("requests were cut off", "after", goodbye)
	}
}
