package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	"github.com/distribution/distribution/v3/registry/storage"
	"github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"github.com/sirupsen/logrus"
)

const (
	registryThreads = 100
	uploadAge       = 24 * time.Hour // an upload that nobody goes on with
	headerWait      = 30 * time.Second
)

// serveRegistry serves OCI images from files below the root until ctx ends. An answer to an upload means that the
// image is on the disk. Blobs that no image names any more are removed at the start.
func serveRegistry(ctx context.Context, o registryOptions) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	all, err := readAccounts(o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Root, 0o700); err != nil {
		return fmt.Errorf("make the root: %w", err)
	}
	unlock, err := lockRoot(o.Root)
	if err != nil {
		return err
	}
	defer unlock()
	// The library logs every request of its own accord, and answers say what is wrong anyway.
	logrus.SetOutput(io.Discard)
	if err := cleanRegistry(ctx, o.Root); err != nil {
		return err
	}
	handler, err := registryHandler(ctx, o.Root, all)
	if err != nil {
		return err
	}
	return serveHTTP(ctx, o, handler, log)
}

// serveHTTP binds the address and answers until ctx ends.
func serveHTTP(ctx context.Context, o registryOptions, handler http.Handler, log *slog.Logger) error {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(o.Listen))
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.Listen, reason(err))
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: headerWait, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	address, err := netip.ParseAddrPort(listener.Addr().String())
	if err == nil {
		err = writeAddress(o.AddressFile, address)
	}
	if err != nil {
		return errors.Join(err, srv.Close())
	}
	log.Info("registry serves", "address", address.String(), "root", o.Root)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		log.Warn("requests were cut off", "after", goodbye)
		return srv.Close()
	}
	return nil
}

// registryHandler is the registry behind its accounts. The library panics where it dislikes its configuration.
func registryHandler(ctx context.Context, root string, a accounts) (h http.Handler, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("open the root %s: %v", root, p)
		}
	}()
	secret := sha256.Sum256([]byte("uploads of " + a.owner.Password)) // uploads go on after a restart
	config := &configuration.Configuration{
		Storage: configuration.Storage{
			"filesystem":  {"rootdirectory": root, "maxthreads": registryThreads},
			"delete":      {"enabled": true},
			"redirect":    {"disable": true},
			"maintenance": {"uploadpurging": map[any]any{"enabled": false}},
			"cache":       {"blobdescriptor": "inmemory"},
		},
	}
	config.HTTP.Secret = hex.EncodeToString(secret[:])
	config.Catalog.MaxEntries = 1000
	return a.guard(handlers.NewApp(ctx, config)), nil
}

// cleanRegistry removes uploads that were left and blobs that no image has.
func cleanRegistry(ctx context.Context, root string) error {
	if _, err := os.Stat(filepath.Join(root, "docker", "registry", "v2", "repositories")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	files := filesystem.New(filesystem.DriverParameters{RootDirectory: root, MaxThreads: registryThreads})
	storage.PurgeUploads(ctx, files, time.Now().Add(-uploadAge), true)
	images, err := storage.NewRegistry(ctx, files)
	if err != nil {
		return fmt.Errorf("open the root %s: %w", root, err)
	}
	err = storage.MarkAndSweep(ctx, files, images, storage.GCOpts{Quiet: true})
	if missing := (driver.PathNotFoundError{}); errors.As(err, &missing) {
		return nil // there are names and no blobs yet
	}
	if err != nil {
		return fmt.Errorf("remove what no image has: %w", err)
	}
	return nil
}
