package export

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Known is what a file and its object were when they were last the same. It tells a file that was deleted here from
// one that is yet to come, and a change here from one in the bucket: bucket and directory alone cannot say that.
type Known struct {
	Version   version
	Modified  int64 // of the object, in seconds since 1970; 0 until it was listed
	SizeBytes int64 // of the file; -1 if there was none, because the policy did not want one
	ModTime   int64 // of the file, in nanoseconds since 1970

	// Which file it was that was exported, to tell one that was touched since; 0 is not known, and a Change of -1
	// if the object does not say.
	Inode  uint64
	Change int64
}

// agreement is what is known once a file and an object are the same.
func agreement(f File, o object) Known {
	k := Known{Version: o.Version, Modified: o.seconds(), SizeBytes: f.SizeBytes, ModTime: int64(f.ModTime)}
	if o.Sum != unasked {
		k.Inode, k.Change = o.tells(f.Home)
	}
	return k
}

// unwanted is what is known of an object that is to have no file.
func unwantedObject(o object) Known {
	return Known{Version: o.Version, Modified: o.seconds(), SizeBytes: -1}
}

// is says that the object is still the one that was known.
func (k Known) is(o object) bool {
	return k.Version == o.Version && (k.Modified == 0 || k.Modified == o.seconds())
}

// had says that the object is the one that had a file.
func (k Known) had(o object) bool { return k.SizeBytes >= 0 && k.is(o) }

// holds says that the file is still the one that was known.
func (k Known) holds(f File) bool {
	return k.SizeBytes == f.SizeBytes && k.ModTime == int64(f.ModTime)
}

// told says that it is known whether the file was touched, and that it was not.
func (k Known) told(f File) bool {
	return k.Change == -1 || k.Change == int64(f.Change) && k.Inode == f.Inode
}

// tells says which file of a directory the object was made of.
func (o object) tells(home uint64) (inode uint64, change int64) {
	if o.Self == (self{}) || o.Self.Home != home || o.Sum == 0 {
		return 0, -1
	}
	return o.Self.Inode, o.Self.Change
}

// Record remembers, over the death of its process, what files and objects were when they were the same. It is a file
// of lines that are appended one by one; the last line of a path counts, and half a line at the end does not.
//
//	link "inode and birth of the directory" "bucket/prefix"
//	same "version" MODIFIED SIZE MTIME "path" INODE CHANGE   the file and the object are the same
//	sent SIZE MTIME "path"                         about to be exported
//	gone "path"                                    nothing is known any more
//	begun "upload" "what it was begun with" "path" an upload in parts that another process can go on with
//	ended "path"                                   or not any more
//	full                                           all that the bucket had at first was looked at
//
// Without imports the link's line begins with "seen", and the lines "same" have objects as they were seen last.
//
// The record of another directory or bucket is not used: a directory that was made anew is filled anew.
type Record struct {
	file *os.File // nil if it is in memory alone
	seen bool     // of objects alone, as nothing is imported

	mu    sync.Mutex // guards what follows
	known map[string]Known
	sent  map[string]Known // exports without an answer when the process died
	begun map[string]begun // uploads in parts that were not completed
	full  bool
	fault error // of the last write
}

// OpenRecord reads the record of a rule, or begins one. No name gives one in memory.
func OpenRecord(name string, rule Rule) (*Record, error) {
	r := &Record{known: map[string]Known{}, sent: map[string]Known{}, begun: map[string]begun{}, seen: !rule.Import.any()}
	if name == "" {
		return r, nil
	}
	head, err := headOf(rule)
	if err != nil {
		return nil, fmt.Errorf("open the record of %s: %w", rule.Dir, err)
	}
	if err := r.read(name, head); err != nil {
		return nil, fmt.Errorf("read the record of %s: %w", rule.Dir, err)
	}
	if err := r.rewrite(name, head); err != nil {
		return nil, fmt.Errorf("write the record of %s: %w", rule.Dir, err)
	}
	return r, nil
}

// headOf names a directory, so that one made anew in its place is another one, and what it is linked with.
func headOf(rule Rule) (string, error) {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, rule.Dir, 0, unix.STATX_INO|unix.STATX_BTIME, &stat); err != nil {
		return "", err
	}
	born := ""
	if stat.Mask&unix.STATX_BTIME != 0 {
		born = fmt.Sprintf(" %d.%09d", stat.Btime.Sec, stat.Btime.Nsec)
	}
	kind := "link"
	if !rule.Import.any() {
		kind = "seen"
	}
	return fmt.Sprintf("%s %q %q", kind, fmt.Sprint(stat.Ino)+born, rule.Bucket+"/"+strings.Trim(rule.Prefix, "/")), nil
}

func (r *Record) read(name, head string) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	first, rest, whole := strings.Cut(string(text), "\n")
	if !whole || first != head {
		return nil
	}
	for line := range strings.Lines(rest) {
		if line, whole := strings.CutSuffix(line, "\n"); whole {
			r.take(line)
		}
	}
	return nil
}

// take reads one line. A line that cannot be read is passed over, since its fact is found out again.
func (r *Record) take(line string) {
	var k Known
	var b begun
	var path, text string
	switch {
	case line == "full":
		r.full = true
	case scan(line, "same %q %d %d %d %q %d %d", &text, &k.Modified, &k.SizeBytes, &k.ModTime, &path, &k.Inode, &k.Change),
		scan(line, "same %q %d %d %d %q", &text, &k.Modified, &k.SizeBytes, &k.ModTime, &path): // as it was before
		k.Version = versionOf(text)
		r.known[path] = k
		delete(r.sent, path)
	case scan(line, "begun %q %q %q", &b.upload, &b.as, &path):
		r.begun[path] = b
	case scan(line, "ended %q", &path):
		delete(r.begun, path)
	case scan(line, "sent %d %d %q", &k.SizeBytes, &k.ModTime, &path):
		r.sent[path] = k
	case scan(line, "gone %q", &path):
		delete(r.known, path)
		delete(r.sent, path)
	}
}

func scan(line, format string, into ...any) bool {
	n, err := fmt.Sscanf(line, format, into...)
	return err == nil && n == len(into)
}

// rewrite writes beside and renames, so that there is always a whole record, and goes on behind it.
func (r *Record) rewrite(name, head string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(r.dump(f, head), f.Sync(), whole.Rename(name+".tmp", name)); err != nil {
		return errors.Join(err, f.Close())
	}
	r.file = f
	return nil
}

func (r *Record) dump(f *os.File, head string) error {
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, head)
	if r.full {
		fmt.Fprintln(w, "full")
	}
	for _, p := range slices.Sorted(maps.Keys(r.known)) {
		w.WriteString(sameLine(p, r.known[p]))
	}
	for p, k := range r.sent {
		w.WriteString(sentLine(p, k))
	}
	for p, b := range r.begun {
		w.WriteString(begunLine(p, b))
	}
	return w.Flush()
}

func sameLine(p string, k Known) string {
	return fmt.Sprintf("same %q %d %d %d %q %d %d\n", k.Version.String(), k.Modified, k.SizeBytes, k.ModTime, p, k.Inode, k.Change)
}

func sentLine(p string, k Known) string {
	return fmt.Sprintf("sent %d %d %q\n", k.SizeBytes, k.ModTime, p)
}

// Agree remembers that a file and its object are the same.
func (r *Record) agree(p string, k Known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.known[p]; ok && old == k {
		return
	}
	r.known[p] = k
	delete(r.sent, p)
	r.write(sameLine(p, k))
}

// compared remembers of which file an object was found to be the content, so that no restart compares them again.
func (r *Record) compared(p string, o object) {
	if r == nil {
		return
	}
	k, known := r.known[p]
	if !known || k.Version != o.Version || o.Self == (self{}) {
		return
	}
	k.Inode, k.Change = o.Self.Inode, o.Self.Change
	r.agree(p, k)
}

// sending remembers what is about to be exported: if the process dies before it hears that it was, the object is known
// by it all the same.
func (r *Record) sending(p string, k Known) {
	if r.seen {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(sentLine(p, k))
}

// forget removes a path from the record.
func (r *Record) forget(p string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, p)
	delete(r.sent, p)
	r.write("gone " + strconv.Quote(p) + "\n")
}

// saw remembers an object that was asked about, where nothing else is known.
func (r *Record) saw(p string, o object, there bool, home uint64) {
	if r == nil || !r.seen {
		return
	}
	if !there {
		r.forget(p)
		return
	}
	k := Known{Version: o.Version, Modified: o.seconds(), SizeBytes: o.SizeBytes, ModTime: o.ModTime}
	k.Inode, k.Change = o.tells(home)
	r.agree(p, k)
}

// share takes the names of the tree, so that they are not there twice.
func (r *Record) share(t *Tree) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := make(map[string]Known, len(r.known))
	for p, k := range r.known {
		if f, ok := t.file(p); ok {
			p = f.Path
		}
		known[p] = k
	}
	r.known = known
}

// looked ends the time in which the bucket's first content comes, and the questions that the last process left, but for
// those objects that are still unclear.
func (r *Record) looked(all bool, unclear map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.sent, func(p string, _ Known) bool { return !unclear[p] })
	if all && len(unclear) == 0 && !r.full {
		r.full = true
		r.write("full\n")
	}
}

// write appends, in one call: a process that dies later has said it. It is for the caller to hold mu.
func (r *Record) write(line string) {
	if r.file == nil {
		return
	}
	if _, err := r.file.WriteString(line); err != nil {
		r.fault = err
	}
}

// err says what became of the writes since it was asked last.
func (r *Record) err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fault := r.fault
	r.fault = nil
	return fault
}

// Close ends the use of the record.
func (r *Record) Close() error {
	if r == nil || r.file == nil {
		return nil
	}
	return r.file.Close()
}

// noTime is the modification time of an object that no export put.
const noTime = math.MinInt64

// modTimeOf is the modification time that an object's metadata has, in nanoseconds.
func modTimeOf(meta map[string]string) int64 {
	ns, err := strconv.ParseInt(strings.TrimSuffix(meta[metaModTime], "ns"), 10, 64)
	if err != nil {
		return noTime
	}
	return ns
}

// modTime is when the file was written, or when the object was put if that is not known.
func modTime(o store.Object) time.Time {
	if ns := modTimeOf(o.Meta); ns != noTime {
		return time.Unix(0, ns)
	}
	return o.Modified
}
