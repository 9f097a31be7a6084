package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/say/page"
)

// Pointer is a pointer to the checkpoint, and what became of it.
type Pointer struct {
	Path  string `json:"path"`  // below the directory
	Names string `json:"names"` // what it says now
	State string `json:"state"` // written, same, or kept: it names another one that is there
}

// States of a pointer.
const (
	Written = "written"
	Same    = "same"
	Kept    = "kept"
)

// pointers writes those that the bucket has beside the checkpoint, each in one step.
func (r *running) pointers(ctx context.Context) ([]Pointer, error) {
	var all []Pointer
	for _, p := range r.View.pointers {
		text, ok := r.says(p)
		if !ok {
			continue
		}
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		done, err := r.pointer(p, text)
		if err != nil {
			return all, err
		}
		all = append(all, done)
	}
	return all, nil
}

// says is what a pointer has to say to name the checkpoint. One that names another one of its run by the same pattern is
// changed, as the newest may not be whole; what else it says is not ours to know.
func (r *running) says(p pointed) (string, bool) {
	base := path.Base(r.Found.Dir)
	if r.Found.Dir == "." || path.Dir(p.path) != r.Found.from.run() {
		return "", false
	}
	if p.names(r.Found.Dir) {
		return p.text, true
	}
	if !checkpoint.Pointer(p.path) && !strings.Contains(path.Base(p.path), "last") || r.Found.Step == checkpoint.NoStep {
		return "", false // it names the best one, say
	}
	if checkpoint.ByStep(p.text, base) {
		return fmt.Sprint(r.Found.Step), true
	}
	if !checkpoint.MayName(p.text, base) {
		return "", false
	}
	return path.Join(path.Dir(p.text), base), true
}

func (r *running) pointer(p pointed, text string) (Pointer, error) {
	link := likeOf(p.object).link
	if link {
		text = path.Base(text) // beside it, wherever the directory is
	}
	done := Pointer{Path: p.path, Names: text, State: Written}
	switch now, there, err := r.now(p.path); {
	case err != nil:
		return done, err
	case there && now == text:
		done.State = Same
		return done, nil
	case there && !r.Replace && r.leads(p.path, now):
		done.State, done.Names = Kept, now
		return done, nil
	}
	return done, r.write(p, text, link)
}

// now is what a pointer says that is there.
func (r *running) now(at string) (text string, there bool, err error) {
	info, err := r.root.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, err
	case info.Mode().Type() == fs.ModeSymlink:
		text, err = r.root.Readlink(at)
		return text, true, err
	case !info.Mode().IsRegular():
		return "", false, fmt.Errorf("%s is no file", page.Printable(at))
	}
	if info.Size() > mostPointer {
		return "", true, nil
	}
	b, err := r.root.ReadFile(at)
	return strings.TrimSpace(string(b)), true, err
}

// leads says that a pointer leads to something that is there.
func (r *running) leads(at, text string) bool {
	for _, name := range []string{path.Base(text), "iter_" + strings.Repeat("0", max(0, 7-len(text))) + text} {
		if _, err := r.root.Stat(path.Join(path.Dir(at), name)); text != "" && err == nil {
			return true
		}
	}
	return false
}

// write gives a pointer its text or its target.
func (r *running) write(p pointed, text string, link bool) error {
	dir, name := path.Dir(p.path), path.Base(p.path)
	tmp := path.Join(dir, manifest.Beside(name))
	if err := r.root.RemoveAll(tmp); err != nil {
		return err
	}
	if link {
		if err := r.root.Symlink(text, tmp); err != nil {
			return err
		}
		return errors.Join(r.root.Rename(tmp, p.path), r.sync(dir))
	}
	if p.line {
		text += "\n"
	}
	w, err := r.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = w.WriteString(text)
	if l := likeOf(p.object); l.uid >= 0 && l.gid >= 0 {
		_ = w.Chown(l.uid, l.gid) // only root may
	}
	if err := errors.Join(err, w.Sync(), w.Close()); err != nil {
		return err
	}
	return errors.Join(r.root.Rename(tmp, p.path), r.sync(dir))
}
