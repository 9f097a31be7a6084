//go:build linux

package cli

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/count"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
)

// lookAtS3 lists the buckets of the cluster's S3 server, which keeps each as a folder.
func (s *clusterStatus) lookAtS3(l *nodes.Layout) {
	entries, err := os.ReadDir(l.Path("s3"))
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("S3: %v", err))
		return
	}
	s.S3 = &s3Status{Endpoint: "http://" + netip.AddrPortFrom(nodes.HeadAddress, services.S3Port).String(), Buckets: []string{}}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			s.S3.Buckets = append(s.S3.Buckets, e.Name())
		}
	}
}

// lookAtExports asks the controller how far its exports are.
func (s *clusterStatus) lookAtExports(ctx context.Context, l *nodes.Layout) {
	ctx, cancel := limited(ctx)
	defer cancel()
	found, err := local.Controller(l).Exports(ctx)
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("exports: ask the controller: %v", err))
		return
	}
	s.Exports = found
	for i, e := range found {
		found[i].Progress = 0 // a number that says nothing to people
		if e.Error != "" {
			s.needs("%s: %s", titleOf(e), e.Error)
		}
		if e.Blocked > 0 {
			s.needs("%s", blockedOf(e))
		}
	}
}

// blockedOf says which files cannot be exported.
func blockedOf(e client.ExportStatus) string {
	var first []string
	for _, f := range e.BlockedFiles[:min(3, len(e.BlockedFiles))] {
		first = append(first, f.Path+": "+f.Reason)
	}
	if more := e.Blocked - len(first); more > 0 {
		first = append(first, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s: %s cannot be exported: %s", titleOf(e), count.Of(e.Blocked, "file"), strings.Join(first, "; "))
}

// lookAtMounts measures the file systems of the cluster file.
func (s *clusterStatus) lookAtMounts(ctx context.Context, l *nodes.Layout, r nodes.Record) {
	for _, m := range r.Shared {
		if !strings.HasPrefix(m.Source, l.Path("shared")+"/") {
			continue
		}
		mount := mountStatus{Path: m.Target, Dir: m.Source}
		mount.UsedBytes, mount.AtLeast = diskUse(ctx, m.Source)
		var fs unix.Statfs_t
		if err := unix.Statfs(m.Source, &fs); err != nil {
			s.Blind = append(s.Blind, fmt.Sprintf("%s: %v", m.Target, err))
			continue
		}
		mount.FreeBytes = int64(fs.Bavail) * fs.Bsize
		s.Mounts = append(s.Mounts, mount)
	}
}

// useWait is how long the files of one file system are counted.
const useWait = time.Second

// diskUse is how many bytes of disk a tree takes. atLeast says that not all of
// it could be seen in time.
func diskUse(ctx context.Context, dir string) (bytes int64, atLeast bool) {
	end := time.Now().Add(useWait)
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if ctx.Err() != nil || time.Now().After(end) {
			atLeast = true
			return filepath.SkipAll
		}
		if err != nil {
			return nil // it went away meanwhile
		}
		if info, err := d.Info(); err == nil {
			bytes += blocks(info)
		}
		return nil
	})
	return bytes, atLeast || err != nil
}

// blocks is what a file takes on disk. Folders count as nothing.
func blocks(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && !info.IsDir() {
		return stat.Blocks * 512
	}
	return 0
}
