package image

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/image/source"
)

// needs are bytes to be written to a directory.
type needs struct {
	dir   string
	bytes int64
}

// atLeast is how many bytes a layer takes at the very least once its blocks are
// compressed anew: about what it has if it was compressed, a fraction if not.
func atLeast(l source.Layer) int64 {
	if l.Digest == l.DiffID {
		return l.Size / 10
	}
	return l.Size / 10 * 8
}

// checkSpace refuses work that would fill a file system for sure. Other writers
// may still fill it meanwhile.
func checkSpace(all ...needs) error {
	type place struct{ free, need int64 }
	places := map[unix.Fsid]*place{}
	for _, n := range all {
		var st unix.Statfs_t
		if err := unix.Statfs(n.dir, &st); err != nil {
			return fmt.Errorf("look at the free space of %s: %w", n.dir, err)
		}
		p := places[st.Fsid]
		if p == nil {
			p = &place{free: int64(st.Bavail) * int64(st.Bsize)}
			places[st.Fsid] = p
		}
		p.need += n.bytes
		if p.need > p.free {
			return fmt.Errorf("%s has %s free, and this needs at least %s: %w", n.dir, megabytes(p.free), megabytes(p.need), unix.ENOSPC)
		}
	}
	return nil
}

// megabytes are bytes as people say them; few are not none.
func megabytes(n int64) string {
	switch {
	case n < 1e3:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%d kB", n/1e3)
	}
	return fmt.Sprintf("%d MB", n/1e6)
}

// spaceHint adds what to do about a full disk or a missing permission.
func spaceHint(err error, dir string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w; `muster image prune --all` gives back what its layer cache takes, --dir writes elsewhere", err)
	case errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: your quota at %s is used up", err, dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; --dir names a directory in which you may write", err)
	}
	return err
}
