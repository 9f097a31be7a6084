package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/status"
)

// lookAtS3 lists the buckets of the cluster's S3 server, which keeps each as a folder.
func (s *sight) lookAtS3(l *nodes.Layout) {
	entries, err := os.ReadDir(l.Path("s3"))
	if err != nil {
		s.Unseen("S3: %v", err)
		return
	}
	s.S3 = &status.S3{Endpoint: s3Endpoint(), Buckets: []string{}}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			s.S3.Buckets = append(s.S3.Buckets, e.Name())
		}
	}
}

// lookAtMounts measures the file systems of the cluster file.
func (s *sight) lookAtMounts(ctx context.Context, l *nodes.Layout, r nodes.Record) {
	for _, m := range r.Shared {
		if !strings.HasPrefix(m.Source, l.Path("shared")+"/") {
			continue
		}
		mount := status.Mount{Path: m.Target, Dir: m.Source}
		mount.UsedBytes, mount.AtLeast = diskUse(ctx, m.Source)
		var fs unix.Statfs_t
		if err := unix.Statfs(m.Source, &fs); err != nil {
			s.Unseen("%s: %v", m.Target, err)
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

// lookAtSpace measures the free space on the disk of the run directory.
func (s *sight) lookAtSpace(dir string) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		s.Unseen("the space in %s: %v", dir, err)
		return
	}
	s.judgeSpace(dir, int64(fs.Bavail)*fs.Bsize, int64(fs.Blocks)*fs.Bsize)
	s.judgeInodes(dir, int64(fs.Ffree), int64(fs.Files))
}

// judgeSpace says where a disk is about to be full: less than a hundredth is free, but at
// least 100 MiB and at most 1 GiB have to be.
func (s *sight) judgeSpace(dir string, free, total int64) {
	if enough := min(max(total/100, 100<<20), 1<<30); free < enough {
		s.Needs("the disk is full or soon will be: %s of %s are free in %s; jobs, Slurm and exports fail without", count.Bytes(free), count.Bytes(total), dir)
	}
}

// judgeInodes says where a disk takes no more files, or soon will not, however much space
// is free. Disks that make inodes as they need them count none.
func (s *sight) judgeInodes(dir string, free, total int64) {
	if enough := max(min(total/100, 10_000), 1); total > 0 && free < enough {
		s.Needs("the disk has no room for more files or soon will not, whatever space is free: %d of %d inodes are free in %s; jobs, Slurm and exports fail without", free, total, dir)
	}
}
