//go:build linux

package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

// followEvery is how often the file is looked at for new events.
const followEvery = 200 * time.Millisecond

func (a *app) showEvents(ctx context.Context, path string, o eventsOptions) error {
	show := &eventsView{out: a.out, json: a.output == "json"}
	if o.since > 0 {
		show.after = time.Now().Add(-o.since)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !o.follow {
		fmt.Fprintln(a.err, "muster: nothing happened yet")
		return nil
	}
	if err == nil {
		defer f.Close()
		err = errors.Join(show.earlier(f, path), show.read(f))
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case o.follow && f != nil:
		err = show.follow(ctx, f, path)
	case o.follow:
		return fmt.Errorf("there are no events in %s yet", path)
	default:
		err = show.end()
	}
	if show.broken > 0 {
		fmt.Fprintf(a.err, "muster: %s of %s cannot be read\n", count.Of(show.broken, "line"), path)
	}
	return err
}

// eventsView shows events as they come. A line that is torn is kept until the
// rest of it is there.
type eventsView struct {
	out    io.Writer
	json   bool
	after  time.Time
	torn   []byte
	headed bool
	broken int
}

// maxEvent bounds a line: a host list of a hundred thousand nodes has room.
const maxEvent = 4 << 20

// read shows all whole lines that r has now.
func (v *eventsView) read(r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		part, err := in.ReadSlice('\n')
		v.torn = append(v.torn, part...)
		switch {
		case err == nil:
			line := v.torn
			v.torn = nil
			if err := v.show(line); err != nil {
				return err
			}
		case errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case len(v.torn) > maxEvent:
			return fmt.Errorf("a line has more than %d MiB", maxEvent>>20)
		}
	}
}

// end shows a last line that lacks its end but is whole otherwise.
func (v *eventsView) end() error {
	if len(v.torn) == 0 || !json.Valid(v.torn) {
		return nil
	}
	return v.show(append(v.torn, '\n'))
}

func (v *eventsView) show(line []byte) error {
	var e controller.Event
	if err := json.Unmarshal(line, &e); err != nil {
		v.broken++
		return nil
	}
	if e.Time.Before(v.after) {
		return nil
	}
	if v.json {
		_, err := v.out.Write(line)
		return err
	}
	if err := v.head(); err != nil {
		return err
	}
	text := v.row(e.Time.Local().Format(time.DateTime), e.Kind, cmp.Or(e.List, e.Instance), withHint(withHands(e), e.Hint))
	for _, line := range e.Log {
		text += v.row("", "", "", "| "+line)
	}
	if e.Report != "" {
		text += strings.Repeat(" ", 19) + page.Gap + "its report: " + page.Printable(e.Report) + "\n" // in one piece, to be copied
	}
	_, err := io.WriteString(v.out, text)
	return err
}

// withHands is an event's reason, with its author, and with what people and programs other than muster did to nodes.
func withHands(e controller.Event) string {
	if e.To == "" {
		return e.Reason
	}
	said := e.Reason
	if e.User != "" {
		said += " (" + e.User + ")"
	}
	return strings.TrimPrefix(said+": "+e.From+", then "+e.To, ": ")
}

func withHint(reason, hint string) string {
	if hint == "" {
		return reason
	}
	return reason + "; " + hint
}

// head shows the table's head once.
func (v *eventsView) head() error {
	if v.json || v.headed {
		return nil
	}
	v.headed = true
	_, err := io.WriteString(v.out, v.row("TIME", "EVENT", "NODES", "REASON"))
	return err
}

// row is a line of the table. Its columns have fixed widths, because what will come is
// not known; a reason is cut at the end of a terminal's line, and whole elsewhere.
func (v *eventsView) row(when, kind, nodes, reason string) string {
	const reasonLeast = 24
	cells := []string{when, page.Printable(kind), page.Printable(nodes), page.Printable(reason)}
	widths := []int{19, 17, 32, 0}
	limit := page.Columns(v.out)
	if limit > 0 {
		widths[3] = max(reasonLeast, limit-widths[0]-widths[1]-widths[2]-3*len(page.Gap))
		return page.Row(widths, []int{10, 17, 0, 0}, limit, cells)
	}
	for i, cell := range cells {
		widths[i] = max(widths[i], utf8.RuneCountInString(cell))
	}
	return page.Row(widths, nil, 0, cells)
}

// earlier shows the events that were written before those of a file. If that has just
// become the earlier one, it will be shown itself.
func (v *eventsView) earlier(f *os.File, path string) error {
	old, err := os.Open(controller.Earlier(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer old.Close()
	if sameFile(f, old.Name()) {
		return nil
	}
	return v.read(old)
}

// follow shows what is added to the file, and to one that takes its place, until ctx
// ends or the file is gone.
func (v *eventsView) follow(ctx context.Context, f *os.File, path string) error {
	if err := v.head(); err != nil {
		return err
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := v.read(f); err != nil {
			return err
		}
		if sameFile(f, path) {
			continue
		}
		if err := v.read(f); err != nil { // what came before the other took its place
			return err
		}
		next, err := os.Open(path)
		if err != nil {
			return v.end()
		}
		defer next.Close()
		f = next
	}
}

// sameFile tells whether path still leads to the file.
func sameFile(f *os.File, path string) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	own, err := f.Stat()
	return err == nil && os.SameFile(own, there)
}
