package meter

import (
	"bytes"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// ReadCollective reads what a program of nccl-tests printed: its table, or the JSON that its option -J writes. Lines of NCCL between
// the table's, and the ranks that srun -l or mpirun write before lines, do no harm. A second table is a problem: its rows are read only if
// nothing says that another process printed it.
func ReadCollective(text []byte) Collective {
	if c, ok := collectiveJSON(text); ok {
		return c
	}
	t := table{Collective: Collective{Reading: Reading{Whole: true}}}
	for _, l := range lines(text, &t.Reading) {
		t.last = false
		t.line(l)
	}
	t.end(bytes.HasSuffix(text, []byte("\n")))
	return t.Collective
}

// table is a table that is being read.
type table struct {
	Collective
	process string // that printed the header
	begun   bool   // the header was there
	// width is how many columns a measure has, stamped whether a row ends with date and time, nominal whether the column of wrong
	// values counts them, and left and middle are where the columns before the measures and the first measure end.
	width, left, middle int
	stamped, counts     bool
	waits               string // the begin of a row that NCCL's lines have cut
	average, stray      bool
	last                bool // the last line says the average
}

// bannered finds facts before and behind the table.
var bannered = pattern.New(`^# *(nccl-tests version .*nccl-library|Collective test starting|Out of bounds values|Avg bus bandwidth|error)\s*[:=]\s*(\S.*)$`)

// deviced finds a line of the list of devices.
var deviced = pattern.New(`^# +Rank +(\d+)(?: +Group +(\d+))? +Pid +(\d+) +on +(\S+) +device +(\d+) +\[([^\]]*)\] *(.*)$`)

func (t *table) line(l line) {
	switch text := strings.TrimSpace(l.text); {
	case text == "":
	case t.begun && l.process != t.process && !isHead(text):
	case strings.HasPrefix(text, "#"):
		t.comment(l, text)
	case text == "...":
		t.lack("line %d says that rows were left out", l.number)
	case failing(text):
		t.lack("line %d: %s", l.number, text)
	case t.begun:
		t.row(l)
	}
}

// failing tells lines that a test writes when it ends before its time.
func failing(text string) bool {
	return slices.ContainsFunc([]string{"Test NCCL failure", "Test CUDA failure", "Test failure", "Invalid number of GPUs"}, func(s string) bool {
		return strings.Contains(text, s)
	})
}

func isHead(text string) bool {
	f := strings.Fields(text)
	return len(f) > 6 && f[0] == "#" && f[1] == "size" && f[2] == "count"
}

func (t *table) comment(l line, text string) {
	if isHead(text) {
		t.head(l, strings.Fields(text)[1:])
		return
	}
	if m := deviced().FindStringSubmatch(text); m != nil {
		t.device(m)
		return
	}
	if m := bannered().FindStringSubmatch(text); m != nil {
		t.fact(l, m[1], clip(m[2]))
	}
}

// head reads the names of the columns, which differ between versions and collectives.
func (t *table) head(l line, names []string) {
	if t.begun {
		if !t.stray {
			t.lack("line %d begins another table: several programs wrote here, or nccl-tests was built without MPI and each process measured for itself", l.number)
		}
		t.stray = true
		return
	}
	isTime := func(s string) bool { return s == "time" || s == "cputime" }
	first := slices.IndexFunc(names, isTime)
	if first < 3 {
		return
	}
	second := slices.IndexFunc(names[first+1:], isTime)
	t.width = second + 1
	if second < 0 || t.width < 4 {
		t.lack("line %d has other columns than are known", l.number)
		return
	}
	t.begun, t.process = true, l.process
	t.stamped = names[len(names)-1] == "timestamp"
	t.counts = names[first+3] == "#wrong"
	at := strings.Index(l.raw, names[first])
	t.left = len(strings.TrimRight(l.raw[:at], " "))
	t.middle = at + strings.Index(l.raw[at:], names[first+3])
}

func (t *table) device(m []string) {
	d := Device{Host: clip(m[4]), Bus: clip(m[6]), Name: clip(m[7])}
	for i, to := range map[int]*int{1: &d.Rank, 2: &d.Group, 3: &d.PID, 5: &d.Index} {
		n, _ := whole(m[i])
		*to = int(n)
	}
	if strings.HasSuffix(d.Name, "...") {
		t.lack("the list of devices is cut off")
	}
	t.Devices = keep(t.Devices, d)
}

func (t *table) fact(l line, name, value string) {
	first, _, _ := strings.Cut(value, " ")
	n, isNumber := number(first)
	switch {
	case strings.HasPrefix(name, "nccl-tests") && isNumber:
		t.NCCL = int(n)
	case name == "Collective test starting":
		t.Name = strings.TrimSuffix(first, "_perf")
	case name == "Out of bounds values" && isNumber && (strings.HasSuffix(value, " OK") || strings.HasSuffix(value, " FAILED")):
		wrong := int64(n)
		t.OutOfBounds = &wrong
	case name == "Avg bus bandwidth" && isNumber:
		t.AvgBusGBps, t.average, t.last = n, true, true
	case name == "error":
		t.lack("line %d: %s", l.number, value)
	default:
		t.lack("line %d cannot be read: %s", l.number, l.quoted())
	}
}

func (t *table) end(newline bool) {
	t.Ranks = len(t.Devices)
	switch {
	case !t.begun:
		t.lack("there is no table of nccl-tests")
	case len(t.Rows) == 0:
		t.lack("the table has no rows")
	}
	if t.waits != "" {
		t.lack("the last row is cut off: %q", strings.TrimSpace(t.waits))
	}
	if t.last && !newline {
		t.lack("the last line may be cut off: it has no end")
	}
	if t.begun && !t.average {
		t.lack("the end is missing: no line says the average bus bandwidth")
	}
}
