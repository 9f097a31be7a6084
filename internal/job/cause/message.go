package cause

import (
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job/message"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// rowOf returns what the table of messages says of a sign.
func rowOf(s Sign) (message.Row, bool) {
	switch s.Kind {
	case trainlog.Exception:
		if lastName(s.Name) != "ChildFailedError" { // torchrun's own, with a table that says more
			return message.OfException(s.Name, s.Text)
		}
	case trainlog.Crash:
		return message.Find(message.Exception, s.Text)
	case trainlog.CUDAError:
		return message.OfCUDA(s.Text)
	case trainlog.NCCLWarning:
		return message.Find(message.NCCL, s.Text)
	case trainlog.Message:
		for _, r := range message.Of(s.Where) {
			if r.Key() == s.Name {
				return r, true
			}
		}
	}
	return message.Row{}, false
}

// message looks at a message that the table has.
func (c *court) message(row message.Row, s Sign, place string) {
	if row.Fault == message.Service && s.Later > 0 || s.Where == message.Usage && !c.exitedWith(s.ExitCode) {
		return // it was asked again, or it is no message of the program that ended
	}
	f := c.program(Class(row.Class), s, place)
	f.says, f.hint, f.guess, f.alike = row.Says, row.Hint, row.Guess, "message "+row.Key()
	f.hint = c.hintOrNCCLWarning(f.hint)
	f.weak = f.weak || s.mentions(row)
	switch row.Follows {
	case message.Here:
		f.action = Here
	case message.Later:
		f.action, f.later = Here, true
	case message.Stop:
		f.action = Stop
	case message.AsClass:
	}
	node := c.nodeOf(s)
	alone, everywhere := c.reportedBy(row)
	switch row.Fault {
	case message.Service:
		f.blame = BlameService
	case message.Node, message.Avoid:
		if row.Everywhere != "" && everywhere {
			f.class, f.guess, node = Class(row.Everywhere), false, ""
		}
		f.blameNode(node, row.Fault == message.Node)
	case message.Alone:
		if !alone {
			node = ""
		}
		if !alone && row.Everywhere != "" {
			f.class, f.guess = Class(row.Everywhere), false
		}
		f.blameNode(node, false)
	case message.AloneNode:
		f.weak = !alone
		if alone {
			f.blameNode(node, true)
		}
	case message.OfClass:
	}
	c.add(f)
}

// hintOrNCCLWarning is a hint, or in its place the first warning of NCCL, where the hint is to ask for these and the log has them already.
func (c *court) hintOrNCCLWarning(hint string) string {
	if !strings.HasPrefix(hint, "NCCL_DEBUG=WARN ") {
		return hint
	}
	for _, s := range c.Signs {
		if s.Kind == trainlog.NCCLWarning && s.Name != "" {
			return strings.TrimSpace(placeOf(s) + " has NCCL's first warning: " + s.Name)
		}
	}
	return hint
}

// mentions says that a sign is of a line in which a program may mention what it got over, and no exception, or of one of Slurm's that says less
// than others.
func (s Sign) mentions(row message.Row) bool {
	switch s.Kind {
	case trainlog.Message:
		return s.Where == message.Line && (row.Guess || row.Fault == message.Avoid || row.Class == string(Crash)) ||
			s.Where == message.Slurm && row.Guess && row.Class == string(CannotStart) // that it did not start: another line says why
	case trainlog.CUDAError, trainlog.NCCLWarning:
		return row.Guess || row.Fault == message.Avoid || row.Fault == message.Alone && row.Everywhere != ""
	}
	return false
}

// blameNode reports that a node is at fault.
func (f *finding) blameNode(node string, drain bool) {
	if node == "" {
		return
	}
	if !strings.Contains(f.detail, node) {
		f.detail += on(node, "")
	}
	f.node, f.reason, f.drain = node, f.detail, drain
}

// said is who says a message: on which nodes, and whether anybody did of whom the node is not known.
type said struct {
	nodes   []string
	unknown bool
}

// messages finds what the table of messages says of each sign, and who says each message.
func (c *court) messages() {
	c.rows, c.said = make([]*message.Row, len(c.Signs)), map[string]*said{}
	for i, s := range c.Signs {
		r, ok := rowOf(s)
		if !ok {
			continue
		}
		c.rows[i] = &r
		who := c.said[idOf(r)]
		if who == nil {
			who = &said{}
			c.said[idOf(r)] = who
		}
		switch node := c.nodeOf(s); {
		case node == "":
			who.unknown = true
		case !slices.Contains(who.nodes, node):
			who.nodes = append(who.nodes, node)
		}
	}
}

func idOf(r message.Row) string { return string(r.Where) + " " + r.Key() }

// reportedBy reports whether one of several nodes alone says a message, and whether all of several do.
func (c *court) reportedBy(row message.Row) (alone, everywhere bool) {
	who, several := c.said[idOf(row)], len(c.Run.Nodes) > 1
	return several && len(who.nodes) == 1 && !who.unknown, several && len(who.nodes) == len(c.Run.Nodes)
}

// program is what ended a process of the program: one of several, of which torchrun may name the first.
func (c *court) program(class Class, s Sign, place string) finding {
	follows := class == Network || class == Killed || class == Collective
	entry, first := c.rootOf(s)
	f := finding{class: class, detail: rankText(s) + s.Text, place: place, weak: class == Killed, alike: string(class) + " " + lastName(s.Name)}
	if first && !follows {
		f.root, f.time = true, entry.Time
	}
	return f
}

// exitedWith says that a process ended with an exit code.
func (c *court) exitedWith(code int) bool {
	return slices.ContainsFunc(c.allExits(), func(x placedExit) bool { return x.Code == code }) ||
		slices.ContainsFunc(c.Signs, func(o Sign) bool {
			return o.ExitCode == code && (o.Kind == trainlog.TaskEnded || o.Kind == trainlog.ChildFailed || o.Kind == trainlog.WorkerFailed)
		})
}

// plugin says that a warning of NCCL's is of its plugin for EFA, which warns of much that ends no run: files of sysfs that it does
// not find, GDRCopy that is not there.
func plugin(text string) bool {
	return strings.Contains(text, "NET/OFI") || strings.Contains(text, "aws-ofi")
}

// lastName is an exception's name without its module.
func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// pause is how long a job waits for a service outside the cluster: longer each time.
func (c *court) pause() time.Duration {
	const first, longest = 5 * time.Minute, time.Hour
	wait := first
	for i := len(c.Rounds) - 1; i >= 0 && c.Rounds[i].Waited; i-- {
		wait = min(2*wait, longest)
	}
	return wait
}
