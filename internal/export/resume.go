package export

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-hpc/muster/internal/store"
)

// begun is an upload in parts that may be gone on with, by another process, too.
type begun struct {
	upload string
	as     string // what it was begun with: another file, or other metadata, cannot go on with it
}

func begunLine(p string, b begun) string { return fmt.Sprintf("begun %q %q %q\n", b.upload, b.as, p) }

// asOf is what an upload is begun with.
func asOf(u store.Upload) string {
	h := sha256.New()
	fmt.Fprintln(h, u.SizeBytes, u.Sums.SHA256)
	for _, k := range slices.Sorted(maps.Keys(u.Meta)) {
		fmt.Fprintf(h, "%q %q\n", k, u.Meta[k])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// begin remembers an upload in parts, also over the end of this machine: its parts cost until somebody knows of them.
func (r *Record) begin(p string, b begun) error {
	r.mu.Lock()
	r.begun[p] = b
	r.write(begunLine(p, b))
	r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	if err := r.file.Sync(); err != nil {
		return fmt.Errorf("remember that the upload of %s began: %w", p, err)
	}
	return nil
}

// under is the upload of a path that was not completed.
func (r *Record) under(p string) (begun, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.begun[p]
	return b, ok
}

// end forgets an upload, if there is one.
func (r *Record) end(p string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.begun[p]; !ok {
		return
	}
	delete(r.begun, p)
	r.write(fmt.Sprintf("ended %q\n", p))
}

// idle are the paths of uploads that nobody will go on with: no put of theirs is still to come.
func (r *Record) idle(p Plan) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.begun) == 0 {
		return nil
	}
	all := maps.Clone(r.begun)
	for _, s := range p.Puts {
		delete(all, s.File.Path)
	}
	for _, w := range slices.Concat(p.Waits, p.Blocked) {
		delete(all, w.Path)
	}
	return slices.Sorted(maps.Keys(all))
}

// abandon frees what uploads sent that nobody will go on with.
func (m *Mirror) abandon(ctx context.Context, p Plan) error {
	if m.Record == nil {
		return nil
	}
	n := noting{m.Store, m.Record, m.Rule.Prefix}
	var errs []error
	for _, p := range m.Record.idle(p) {
		errs = append(errs, n.abort(ctx, p))
	}
	return errors.Join(errs...)
}

// noting is a store that has each export remembered, so that another process goes on with what was sent.
type noting struct {
	store.Store
	record *Record
	prefix string
}

// Put implements store.Store.
func (n noting) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	o, err := n.put(ctx, u)
	if err == nil {
		n.record.agree(pathOf(n.prefix, u.Key), knownAs(o))
	}
	return o, err
}

// knownAs is what is known of an object that was just put.
func knownAs(o store.Object) Known {
	is := selfOf(o.Meta)
	return Known{Version: versionOf(o.Version), SizeBytes: o.SizeBytes, ModTime: modTimeOf(o.Meta), Inode: is.Inode, Change: is.Change}
}

func (n noting) put(ctx context.Context, u store.Upload) (store.Object, error) {
	p := pathOf(n.prefix, u.Key)
	n.record.sending(p, Known{SizeBytes: u.SizeBytes, ModTime: modTimeOf(u.Meta)})
	as := asOf(u)
	if b, ok := n.record.under(p); ok && b.as == as {
		u.Resume = b.upload
	} else if ok {
		if err := n.abort(ctx, p); err != nil {
			return store.Object{}, err
		}
	}
	u.Begun = func(id string) error { return n.record.begin(p, begun{id, as}) }
	o, err := n.Store.Put(ctx, u)
	switch {
	case err == nil:
		n.record.end(p)
	case ofTheFile(err) || errors.Is(err, store.ErrChecksum): // it is another file by now, or none that the place takes
		err = errors.Join(err, n.abort(context.WithoutCancel(ctx), p))
	}
	return o, err
}

// abort ends the upload of a path, if there is one.
func (n noting) abort(ctx context.Context, p string) error {
	b, ok := n.record.under(p)
	if !ok {
		return nil
	}
	if err := n.Store.Abort(ctx, key(n.prefix, p), b.upload); err != nil {
		return err
	}
	n.record.end(p)
	return nil
}

// Delete implements store.Store.
func (n noting) Delete(ctx context.Context, key string) error {
	err := n.Store.Delete(ctx, key)
	if err == nil {
		n.record.forget(pathOf(n.prefix, key))
	}
	return err
}
