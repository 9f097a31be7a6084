package keeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/probe"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestLimit(t *testing.T) {
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	steady := func(seconds float64) rhythm {
		return rhythm{Gaps: []float64{seconds, seconds, seconds}, Longest: seconds}
	}
	for _, row := range []struct {
		name   string
		rhythm rhythm
		run    run
		policy func(*policy.Policy)
		limit  time.Duration
		since  time.Time
	}{
		{"begins_unknown", rhythm{}, run{}, nil, 30 * time.Minute, start},
		{"begins_as_before", rhythm{StartUp: 200}, run{}, nil, 14 * time.Minute, start},
		{"begins_as_wished", rhythm{StartUp: 200}, run{Wrote: at(3)}, func(p *policy.Policy) { p.StartUp = policy.Span(time.Minute) }, time.Minute, start},
		{"is_quick", steady(2), run{Last: at(5)}, nil, 10 * time.Minute, at(5)},
		{"is_slow", steady(120), run{Last: at(5)}, nil, 20 * time.Minute, at(5)},
		{"evaluates_long", rhythm{Gaps: []float64{2, 2, 2}, Longest: 1200}, run{Last: at(5)}, nil, 30 * time.Minute, at(5)},
		{"writes_else", steady(2), run{Last: at(5), Wrote: at(9)}, nil, 10 * time.Minute, at(9)},
		{"writes_that_it_waits", steady(2), run{Last: at(5), Wrote: at(90)}, nil, 10 * time.Minute, at(25)},
		{"is_wished", steady(120), run{Last: at(5), Wrote: at(9)}, func(p *policy.Policy) { p.Hang.Limit = time.Minute }, time.Minute, at(5)},
		{"is_off", steady(2), run{Last: at(5)}, func(p *policy.Policy) { p.Hang.Off = true }, 0, time.Time{}},
		{"was_suspended", steady(2), run{Last: at(5), Alive: at(15)}, nil, 10 * time.Minute, at(15)},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			r := &record{Policy: policy.Default(), job: w.job, Run: &row.run, Rhythm: row.rhythm}
			r.Run.Start = start
			r.sample(sampleAt(5))
			if row.policy != nil {
				row.policy(&r.Policy)
			}
			if limit, since := r.limit(); limit != row.limit || !since.Equal(row.since) {
				t.Errorf("%s since minute %.0f, want %s since minute %.0f", limit, since.Sub(start).Minutes(), row.limit, row.since.Sub(start).Minutes())
			}
		})
	}
}

// hangs has the job train, and then be silent for longer than it may.
func (w *world) hangs(script string) *Keeper {
	w.script = "#!/bin/sh\n#MUSTER --hang=1m " + script + "\n"
	w.prints(1, 3)
	k := w.rounds(1)
	r := k.records[7]
	r.Run.Last = time.Now().Add(-2 * time.Minute)
	return k
}

func TestHang(t *testing.T) {
	for wish, want := range map[string]struct {
		requeues, cancels int
		state             string
	}{"--on-hang=requeue": {1, 0, "RUNNING"}, "--on-hang=stop": {0, 1, "CANCELLED"}, "--on-hang=tell": {0, 0, "RUNNING"}} {
		t.Run(wish, func(t *testing.T) {
			w := newWorld(t)
			k := w.hangs(wish)
			for range 6 {
				w.round(k)
				w.schedule()
			}
			if w.requeues != want.requeues || w.cancels != want.cancels || w.job.State != want.state {
				t.Errorf("%d requeues, %d ends, %s", w.requeues, w.cancels, w.job.State)
			}
			told := 0
			for _, e := range w.events {
				if e.Kind == "job hangs" && strings.Contains(e.Reason, "no line of progress for 2:00, and 1:00 is the limit") {
					told++
				}
			}
			if told != 1 {
				t.Errorf("it was told %d times: %+v", told, w.events)
			}
		})
	}
}

// A job that Slurm may not queue again is ended when it hangs, once.
func TestHangsWithoutRequeue(t *testing.T) {
	w := newWorld(t)
	k := w.hangs("--on-hang=requeue")
	w.job.Requeue = false
	for range 6 {
		w.round(k)
		w.schedule()
	}
	if w.requeues != 0 || w.cancels != 1 || w.job.State != "CANCELLED" {
		t.Errorf("%d requeues, %d ends, %s", w.requeues, w.cancels, w.job.State)
	}
}

// What nodes tell passes the user's processes, which may write without end.
func TestHead(t *testing.T) {
	h := head{most: 10}
	for range 3 {
		if n, err := h.Write([]byte("123456")); n != 6 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if string(h.text) != "1234561234" {
		t.Errorf("got %q", h.text)
	}
}

// A job that only was slow, or whose output cannot be read, does not hang.
func TestNoHang(t *testing.T) {
	w := newWorld(t)
	k := w.hangs("--on-hang=tell")
	w.round(k)
	w.prints(4, 4)
	w.round(k)
	if r := k.Report(7); r.Hang != nil || w.events[len(w.events)-1].Kind != "job heard" {
		t.Errorf("got %+v, %+v", r.Hang, w.events)
	}
	w.job.State = "SUSPENDED"
	k.records[7].Run.Last = time.Now().Add(-time.Hour)
	w.round(k)
	w.job.State = "RUNNING"
	w.round(k)
	if r := k.Report(7); r.Hang != nil {
		t.Errorf("it was suspended: %+v", r.Hang)
	}
}

// watched is a job of two ranks that prints a line every two seconds, and then is silent. What its processes do is asked of do.
func (w *world) watched(wishes string, do func(after time.Duration) []probe.Report) (*Keeper, *record, func(from, to time.Duration)) {
	w.script = "#!/bin/sh\n#MUSTER --checkpoints=/fsx/ck " + wishes + "\n"
	w.prints(1, 30)
	k := w.keeper()
	if !w.round(k) {
		w.t.Fatal("it died")
	}
	k.Files, k.Scribe = w, w // there are no rounds that go on meanwhile
	r := k.records[7]
	r.Rhythm = rhythm{Gaps: []float64{2, 2, 2}, Longest: 2}
	last := time.Now()
	r.Run.Last, r.Run.Wrote = last, last
	passed := time.Duration(0)
	k.Probe = func(context.Context, slurm.Job) ([]probe.Report, error) {
		if do == nil {
			return nil, errors.New("nobody answers")
		}
		return do(passed), nil
	}
	return k, r, func(from, to time.Duration) {
		k.lock.Lock()
		defer k.lock.Unlock()
		for passed = from; passed <= to && r.Run != nil; passed += 10 * time.Second {
			for range 2 { // the look that the first one begins is there for the second
				if err := k.watch(w.t.Context(), r, last.Add(passed)); err != nil {
					w.t.Fatal(err)
				}
				k.asks.Wait()
				if r.Run == nil {
					break
				}
			}
		}
	}
}

// crew is what two nodes tell of two ranks: so much computed, in such a state.
func crew(cpu float64, state string) []probe.Report {
	var all []probe.Report
	for i, node := range []string{"q-dy-r-1", "q-dy-r-2"} {
		all = append(all, probe.Report{Node: node, Processes: []probe.Process{
			{PID: 10, Start: 5, Rank: strconv.Itoa(i), Part: probe.Leader, State: map[bool]string{true: state, false: "S"}[i == 1], Busy: cpu > 0, CPUSeconds: cpu},
		}})
	}
	return all
}

// spinsAt is what nodes tell of ranks that compute, and stay where they are; NCCL says how many operations rank 0 has begun, and
// that rank 1 has begun one less.
func spinsAt(launched uint64) func(time.Duration) []probe.Report {
	return func(after time.Duration) []probe.Report {
		all := crew(after.Seconds(), "R")
		for i := range all {
			all[i].Processes[0].Place = "wait (train.py:33); <module> (train.py:90)"
			all[i].Addrs = []string{fmt.Sprintf("10.0.0.%d", i+1)}
		}
		said := counted(launched, launched-1)
		said.Comms[0].Ranks[1].Host = "10.0.0.2"
		all[0].NCCL = []probe.Answer{{Addr: "localhost:28028", Report: &said}}
		all[1].NCCL = []probe.Answer{{Addr: "localhost:28028", Blind: "connection refused"}}
		return all
	}
}

func (w *world) told(kind string) (n int, last Event) {
	for _, e := range w.events {
		if e.Kind == kind {
			n, last = n+1, e
		}
	}
	return n, last
}

// With auto, a job that computes is told of once, and left alone for as long as it does.
func TestSlow(t *testing.T) {
	w := newWorld(t)
	k, r, pass := w.watched("", func(after time.Duration) []probe.Report { return crew(after.Seconds(), "R") })
	pass(0, 12*time.Hour)
	slows, e := w.told("job slow")
	hangs, _ := w.told("job hangs")
	if slows != 1 || hangs != 0 || r.Act != nil || r.Run == nil {
		t.Fatalf("%d times slow, %d hangs, %+v", slows, hangs, r.Act)
	}
	want := "job 7: no line of progress for 11:10, and 10:00 is the limit; 2 of 2 processes of its ranks compute"
	if e.Reason != want || !strings.Contains(e.Hint, "/fsx/7.out.slow-") {
		t.Errorf("got %q, want %q; %q", e.Reason, want, e.Hint)
	}
	if k.publish(time.Now()); k.Report(7).Slow == nil || k.Report(7).Hang != nil || k.Report(7).Phase != "training" {
		t.Errorf("got %+v", k.Report(7))
	}
	w.prints(31, 31)
	w.round(k)
	if heard, _ := w.told("job heard"); heard != 1 || r.Run.Slow != nil || len(r.looks) > 0 {
		t.Errorf("it was heard %d times, %+v", heard, r.Run.Slow)
	}
	if slows, _ := w.told("job slow"); slows != 1 {
		t.Errorf("it was slow %d times", slows)
	}
}

// What ends a silent job is what its processes do, or do not; a limit of the user's is obeyed as it is.
func TestWatch(t *testing.T) {
	busy := func(after time.Duration) []probe.Report { return crew(after.Seconds(), "R") }
	for _, row := range []struct {
		name, wishes string
		do           func(time.Duration) []probe.Report
		ends         time.Duration // 0 is never
		says         string
	}{
		{"computes", "", busy, 0, ""},
		{"computes_beyond_a_limit_of_the_users", "--hang=3m", busy, 3*time.Minute + 10*time.Second, "no line of progress for 3:10"},
		{"computes_beyond_its_least", "--hang=auto:2m", busy, 0, ""},
		{"stands", "", func(after time.Duration) []probe.Report { return crew(after.Seconds(), "T") }, 11*time.Minute + 10*time.Second, "rank 1 on q-dy-r-2 is stopped"},
		{"stands_soon", "--hang=auto:2m", func(after time.Duration) []probe.Report { return crew(after.Seconds(), "T") }, 2*time.Minute + 30*time.Second, "rank 1 on q-dy-r-2 is stopped"},
		{"stands_later", "", func(after time.Duration) []probe.Report {
			return crew(after.Seconds(), map[bool]string{true: "T", false: "R"}[after > time.Hour])
		}, time.Hour + 2*time.Minute + 10*time.Second, "rank 1 on q-dy-r-2 is stopped"},
		{"idles", "", func(time.Duration) []probe.Report { return crew(0, "S") }, 12*time.Minute + 10*time.Second, "its ranks have neither computed nor read nor written anything for 2:00"},
		{"spins", "", spinsAt(7), 20 * time.Minute, "and NCCL begins no operation: 2 at wait (train.py:33)"},
		{"spins_and_begins_operations", "", func(after time.Duration) []probe.Report { return spinsAt(uint64(after.Seconds()))(after) }, 0, ""},
		{"is_mute", "", func(after time.Duration) []probe.Report { return crew(after.Seconds(), "R")[:1] }, 20 * time.Minute, "q-dy-r-2 does not answer"},
		{"is_dark", "", nil, 0, ""},
		{"is_dark_beyond_a_limit_of_the_users", "--hang=3m", nil, 3*time.Minute + 10*time.Second, "its processes cannot be looked at: nobody answers"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			_, r, pass := w.watched(row.wishes, row.do)
			if row.ends == 0 {
				pass(0, 10*time.Hour)
				if hangs, e := w.told("job hangs"); hangs > 0 || r.Act != nil {
					t.Errorf("it is ended: %+v", e)
				}
				return
			}
			if pass(0, row.ends-20*time.Second); r.Act != nil {
				t.Fatalf("it is ended too early: %+v", w.events)
			}
			pass(row.ends-10*time.Second, row.ends+4*time.Minute)
			hangs, e := w.told("job hangs")
			if hangs != 1 || r.Act == nil || !strings.Contains(e.Reason, row.says) || r.Act.Round.Class != "hang" {
				t.Errorf("%d hangs, %q, want %q; %+v", hangs, e.Reason, row.says, r.Act)
			}
		})
	}
}

// What NCCL says of the ranks explains the end of the run, and the file has all of it.
func TestHangIsExplainedByNCCL(t *testing.T) {
	w := newWorld(t)
	_, r, pass := w.watched("", spinsAt(7))
	pass(0, time.Hour)
	if r.Act == nil {
		t.Fatalf("got %+v", w.events)
	}
	round := r.Act.Round
	if found := strings.Join(round.Findings, "\n"); !strings.Contains(found, "others wait for ranks that have begun fewer operations: rank 1 on q-dy-r-2 (NCCL RAS)") || round.AtFault != "q-dy-r-2" {
		t.Errorf("at fault is %q, by\n%s", round.AtFault, found)
	}
	if len(w.put) != 2 {
		t.Fatalf("got %d files", len(w.put))
	}
	for path, text := range w.put {
		for _, want := range []string{"q-dy-r-1, NCCL at localhost:28028 says: {", `"AllReduce": 6`, "q-dy-r-2, NCCL at localhost:28028 cannot be asked: connection refused"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q:\n%s", path, want, text)
			}
		}
	}
}

// What was suspended by Slurm for long does not pause so by itself.
func TestSuspendedIsNoPause(t *testing.T) {
	w := newWorld(t)
	w.prints(1, 30)
	k := w.rounds(1)
	r := k.records[7]
	r.Rhythm = rhythm{Gaps: []float64{2, 2, 2, 2, 2, 2, 2, 2, 2}, Longest: 2}
	r.Run.Last, r.Run.Alive = time.Now().Add(-10*time.Hour), time.Now()
	w.prints(31, 31)
	w.round(k)
	if r.Rhythm.Longest > 60 {
		t.Errorf("its longest pause was %g s", r.Rhythm.Longest)
	}
}

// Nodes that do not answer hold up no round, and are asked once at a time. What they say of a job that has gone on meanwhile is
// of no use.
func TestLooksHoldNobodyUp(t *testing.T) {
	w := newWorld(t)
	k, r, _ := w.watched("--hang=1m", nil)
	asked, answer := 0, make(chan []probe.Report)
	k.Probe = func(context.Context, slurm.Job) ([]probe.Report, error) {
		asked++
		return <-answer, nil
	}
	last := r.Run.Last
	at := func(minutes int) {
		t.Helper()
		if err := k.watch(t.Context(), r, last.Add(time.Duration(minutes)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	for minutes := range 5 {
		at(minutes)
	}
	r.Run.Last = last.Add(5 * time.Minute)
	at(5)
	answer <- crew(0, "T")
	k.asks.Wait()
	at(5)
	if asked != 1 || len(k.free) != 0 {
		t.Errorf("asked %d times, %d are under way", asked, len(k.free))
	}
	if hangs, _ := w.told("job hangs"); hangs != 0 {
		t.Errorf("it hangs: %+v", w.events)
	}
	for range asksAtOnce {
		k.free <- struct{}{}
	}
	at(10)
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	<-k.free
	at(11)
	answer <- crew(0, "T")
	k.asks.Wait()
	at(12)
	if hangs, e := w.told("job hangs"); asked != 2 || hangs != 1 || !strings.Contains(e.Reason, "rank 1 on q-dy-r-2 is stopped") {
		t.Errorf("asked %d times: %+v", asked, w.events)
	}
}

// A job that writes faster than its logs are read owes no line that may be among what was not read, and its rhythm is not that of
// the reading.
func TestFlood(t *testing.T) {
	w := newWorld(t)
	k := w.hangs("--on-hang=requeue")
	r := k.records[7]
	usual := r.Rhythm.Longest
	flood := strings.Repeat("noise that says nothing\n", piecesAtOnce*pieceBytes/24+1)
	w.logs["/fsx/7.out"] += flood
	w.prints(4, 5)
	w.round(k)
	if w.requeues != 0 || r.Run.Hang != nil || !r.behind() {
		t.Fatalf("%d requeues, %+v, behind: %t", w.requeues, r.Run.Hang, r.behind())
	}
	w.round(k)
	if r.behind() || r.Run.Step != 5 || w.requeues != 0 || r.Rhythm.Longest != usual {
		t.Errorf("behind: %t, step %d, %d requeues, longest gap %g and before %g", r.behind(), r.Run.Step, w.requeues, r.Rhythm.Longest, usual)
	}
}
