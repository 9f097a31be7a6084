package cause

import (
	_ "embed" // for xid.tsv
	"strconv"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// xidTable says what each Xid means, and how its columns read.
//
//go:embed xid.tsv
var xidTable string

// effect is what an Xid means for a run that failed.
type effect string

const (
	noEffect      effect = "none"
	programEffect effect = "program"
	nodeEffect    effect = "node"
	// These two are nodeEffect if their line says so.
	fatalEffect    effect = "fatal"
	recoveryEffect effect = "recovery"
)

// xid is a row of the table.
type xid struct {
	code   int
	effect effect
	// class is that of faults of the machine.
	class Class
	// action is NVIDIA's immediate one.
	action, says string
}

var xids = sync.OnceValue(func() map[int]xid {
	all := map[int]xid{}
	for line := range strings.Lines(xidTable) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		const columns = 5
		if len(cells) != columns || strings.HasPrefix(line, "#") {
			continue
		}
		code, _ := strconv.Atoi(cells[0]) // a test reads the table
		all[code] = xid{code: code, effect: effect(cells[1]), class: Class(cells[2]), action: cells[3], says: cells[4]}
	}
	return all
})

// recovery is what Xid 154 says, as in "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)".
var recovery = pattern.New(`(?i)recovery action changed from .* to 0x0*([0-9a-f])\b`)

// fatal is the severity in lines of Xids 144 to 150, as in "149, NETIR_LINK_EVT Fatal XC0 i0 Link 08".
var fatal = pattern.New(`[ ,]Fatal\b`)

// meaning is what an Xid means with its line. An Xid that is not in the table means nothing.
func meaning(code int, line string) (xid, effect) {
	x, ok := xids()[code]
	if !ok {
		return xid{code: code, says: "not in NVIDIA's catalogue of used ones"}, noEffect
	}
	switch x.effect {
	case fatalEffect:
		if fatal().MatchString(line) {
			return x, nodeEffect
		}
		return x, noEffect
	case recoveryEffect:
		if m := recovery().FindStringSubmatch(line); m != nil && m[1] != "0" {
			return x, nodeEffect
		}
		return x, noEffect
	}
	return x, x.effect
}
