package keeper

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/probe"
	"github.com/muster-hpc/muster/internal/job/ras"
)

const tenMinutes = 10 * time.Minute

// spinning is a job of two ranks whose processes are in NCCL, at a time after the job went silent.
func spinning(after time.Duration) look {
	l := look{at: start.Add(after), procs: map[procKey]proc{}}
	for i, node := range []string{"a", "b"} {
		l.procs[procKey{node, 10, 5}] = proc{rank: string(rune('0' + i)), part: probe.Leader, cpu: after.Seconds(), io: 4096, place: "wait (train.py:33)"}
		l.procs[procKey{node, 20, 6}] = proc{rank: string(rune('0' + i)), part: probe.Helper, cpu: 3, io: 1 << 30}
		l.procs[procKey{node, 5, 2}] = proc{cpu: after.Seconds() / 50, io: 100}
	}
	l.counts = counted(7, 7)
	return l
}

// counted is what NCCL says of ranks that have begun so many operations.
func counted(launched ...uint64) ras.Report {
	c := ras.Comm{Hash: "c0", Size: len(launched)}
	for i, n := range launched {
		c.Ranks = append(c.Ranks, ras.Rank{Process: ras.Process{Rank: i, Host: "10.0.0.1", PID: 10 + i}, Launched: map[string]uint64{"AllReduce": n}})
	}
	return ras.Report{Comms: []ras.Comm{c}}
}

// looksAt is a row of looks, one in two minutes, that a job's processes are changed in.
func looksAt(n int, change func(i int, l *look)) []look {
	var all []look
	for i := range n {
		l := spinning(tenMinutes + time.Duration(i)*2*time.Minute)
		if change != nil {
			change(i, &l)
		}
		all = append(all, l)
	}
	return all
}

// each changes a process on a node, or on all.
func (l *look) each(node string, part probe.Part, change func(*proc)) {
	for key, p := range l.procs {
		if p.part == part && (node == "" || key.node == node) {
			change(&p)
			l.procs[key] = p
		}
	}
}

func TestWeigh(t *testing.T) {
	rests := func(_ int, l *look) { l.each("", probe.Leader, func(p *proc) { p.cpu = 50 }) }
	for _, row := range []struct {
		name   string
		looks  int
		change func(i int, l *look)
		want   stillness
	}{
		{"one_look", 1, rests, unclear},
		{"blind", 6, func(i int, l *look) { l.blind = "no answer" }, unclear},
		{"blind_once", 3, func(i int, l *look) { rests(i, l); l.blind = map[int]string{1: "no answer"}[i] }, unclear},
		{"spins", 6, nil, spins},
		{"spins_for_less_than_a_limit", 5, nil, comesOn},
		{"computes_here_and_there", 6, func(i int, l *look) { l.each("b", probe.Leader, func(p *proc) { p.place = "" }) }, comesOn},
		{"goes_to_another_place", 6, func(i int, l *look) {
			l.each("b", probe.Leader, func(p *proc) { p.place += map[bool]string{true: "!"}[i > 2] })
		}, comesOn},
		{"operations_begin", 6, func(i int, l *look) { l.counts = counted(7+uint64(i), 7) }, comesOn},
		{"nccl_says_nothing", 60, func(i int, l *look) { l.counts = ras.Report{} }, comesOn},
		{"reads_data", 60, func(i int, l *look) { l.each("a", probe.Leader, func(p *proc) { p.io += int64(i) << 20 }) }, comesOn},
		{"nobody_sees_what_it_reads", 60, func(i int, l *look) { l.each("", probe.Leader, func(p *proc) { p.io = -1 }) }, comesOn},
		{"loads_data", 60, func(i int, l *look) { l.each("b", probe.Helper, func(p *proc) { p.cpu += 20 * float64(i) }) }, comesOn},
		{"begins_loaders", 60, func(i int, l *look) { l.procs[procKey{"a", 100 + i, 7}] = proc{rank: "0", part: probe.Helper} }, comesOn},
		{"has_no_rank", 60, func(i int, l *look) { clear(l.procs) }, comesOn},
		{"idles", 3, rests, idles},
		{"idles_too_short", 2, rests, comesOn},
		{"idles_and_a_helper_copies", 60, func(i int, l *look) { rests(i, l); l.each("a", probe.Helper, func(p *proc) { p.io += int64(i) << 24 }) }, comesOn},
		{"idles_and_a_shell_computes", 3, rests, idles},
		{"idles_where_one_can_look", 4, func(i int, l *look) { rests(i, l); l.mute = []string{"c"} }, comesOn},
		{"is_mute", 6, func(i int, l *look) { l.mute = []string{"c"} }, isMute},
		{"was_mute", 6, func(i int, l *look) { l.mute = map[bool][]string{true: {"c"}}[i < 5] }, comesOn},
		{"stands", 2, func(i int, l *look) { l.each("b", probe.Leader, func(p *proc) { p.stands = true }) }, stands},
		{"stood_once", 2, func(i int, l *look) { l.each("b", probe.Leader, func(p *proc) { p.stands = i == 1 }) }, comesOn},
		{"stand_in_turns", 4, func(i int, l *look) {
			l.each(map[bool]string{true: "a", false: "b"}[i%2 == 0], probe.Leader, func(p *proc) { p.stands = true })
		}, comesOn},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, why := weigh(looksAt(row.looks, row.change), tenMinutes); got != row.want {
				t.Errorf("got %d (%s), want %d", got, why, row.want)
			}
		})
	}
}

// However it is looked at: a job whose ranks compute, and of which nobody knows more, does not hang, for whatever time.
func TestWeigh_leaves_the_busy_alone(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		limit := time.Duration(1+random.IntN(int(time.Hour/time.Second))) * time.Second
		var looks []look
		at := limit
		for n := range 2 + random.IntN(200) {
			at += pauseAfter(looks, limit)
			l := spinning(at)
			l.counts = ras.Report{}
			switch random.IntN(8) {
			case 0:
				l.blind = "no answer"
			case 1:
				l.counts = counted(7, 7) // once, which is no comparison with what is before and after
			case 2:
				l.procs[procKey{"a", 30, uint64(n)}] = proc{stands: true} // another one each time
			}
			if random.IntN(3) == 0 && l.blind == "" {
				l.each("a", probe.Leader, func(p *proc) { p.cpu, p.io = at.Seconds(), int64(at.Seconds())*random.Int64N(1<<20) })
			}
			if was := len(looks); was > 0 && looks[was-1].counts.Comms != nil {
				l.counts = ras.Report{}
			}
			looks = more(looks, l)
			if got, why := weigh(looks, limit); got != unclear && got != comesOn {
				t.Fatalf("seed %d, look %d: %d, %s", seed, len(looks), got, why)
			}
			if len(looks) > looksKept {
				t.Fatalf("%d looks are kept", len(looks))
			}
		}
	}
}

// A job that stands, idles or spins is found, whatever its limit, and a look does not come sooner than it may.
func TestWeigh_finds(t *testing.T) {
	for want, change := range map[stillness]func(*look){
		stands: func(l *look) { l.each("a", probe.Leader, func(p *proc) { p.stands = true }) },
		idles:  func(l *look) { l.each("", probe.Leader, func(p *proc) { p.cpu = 1 }) },
		spins:  func(*look) {},
	} {
		within := map[stillness]float64{stands: 0.2, idles: 0.5, spins: 1.7}[want]
		for _, limit := range []time.Duration{30 * time.Second, tenMinutes, 40 * time.Minute, 24 * time.Hour} {
			var looks []look
			at := limit
			for range 10000 {
				l := spinning(at)
				change(&l)
				looks = more(looks, l)
				if got, _ := weigh(looks, limit); got == want {
					break
				}
				pause := pauseAfter(looks, limit)
				if pause < againLeast {
					t.Fatalf("a look after %s", pause)
				}
				at += pause
			}
			if got, why := weigh(looks, limit); got != want || (at-limit).Seconds() > within*limit.Seconds() {
				t.Errorf("limit %s: after %s more %d (%s), want %d", limit, at-limit, got, why, want)
			}
		}
	}
}

// What is told of a job that is slow and of one that stands.
func TestStanding(t *testing.T) {
	reports := []probe.Report{{Node: "a", Processes: []probe.Process{
		{PID: 1, Rank: "0", Part: probe.Leader, State: "R", Busy: true}, {PID: 2, Rank: "0", Part: probe.Helper, State: "S"}, {PID: 3, State: "S", Busy: true},
	}}, {Node: "b", Processes: []probe.Process{{PID: 4, Rank: "1", Part: probe.Leader, State: "D", Held: true, Wait: "nfs_wait"}, {PID: 5, State: "D"}}}}
	l := look{mute: []string{"c"}}
	at, says := standing(l, reports)
	if got := strings.Join(says, "; "); got != "rank 1 on b waits in the kernel (nfs_wait); c does not answer" || !slices.Equal(at, []string{"b", "c"}) {
		t.Errorf("got %q at %v", got, at)
	}
	for want, l := range map[string]look{
		"1 of 3 processes of its ranks compute":                        {},
		"1 of 3 processes of its ranks compute, and c does not answer": l,
		"it is dark": {blind: "it is dark"},
	} {
		if got := does(finding{told: told{l, reports}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
