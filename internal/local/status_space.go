package local

import (
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/count"
)

// lookAtSpace measures what is free where a local cluster keeps all it has.
func (s *sight) lookAtSpace(dir string) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		s.Unseen("the space in %s: %v", dir, err)
		return
	}
	s.judgeSpace(dir, int64(fs.Bavail)*fs.Bsize, int64(fs.Blocks)*fs.Bsize)
	s.judgeInodes(dir, int64(fs.Ffree), int64(fs.Files))
}

// judgeSpace says where a disk is about to be full: less than a hundredth is free. Of a
// small disk more has to be, of a large one less is enough.
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
