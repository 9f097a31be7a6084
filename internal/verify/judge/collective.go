package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// CollectiveSeen is what a collective measured on some nodes, and what is right there.
type CollectiveSeen struct {
	meter.Collective
	// On is a host list, empty for all nodes.
	On string
	// Wrong are nodes where data were wrong, with what, as far as that is known. Note says how it was measured, if that is odd.
	Wrong map[string]string
	Note  string
	Right expect.Bandwidth
	// Want is how many ranks measure together, 0 where that is not known.
	Want int
	// Earlier is the same series of an earlier report of the same cluster, nil if there is none, and EarlierSource which that is.
	Earlier       *verify.Series
	EarlierSource string
	// Loose says why being slower than earlier is no failure, such as that all nodes share one machine's processors.
	Loose string
}

// Parts of an expected bus bandwidth below which it is a warning and a failure.
const (
	busWarn = 0.9
	busFail = 0.8
	busRule = "muster warns below 90 % and fails below 80 % of "
	// busFar fails also where the expectation is not exact: from 1 GiB on, all published curves are at 88 % of their peak or more.
	busFar = 0.5
)

// Collective judges a collective: its data, its sizes and its bandwidth.
func Collective(s CollectiveSeen) ([]verify.Result, []verify.Series) {
	name := strings.ReplaceAll(cmp.Or(s.Name, "collective"), "_", "-")
	all := []verify.Result{s.data(name)}
	if len(s.Rows) == 0 {
		return all, nil
	}
	if apart := s.apart(); apart != "" {
		return append(all, verify.Result{Check: name + "-ranks", On: s.On, Verdict: verify.Blind, Want: count.Of(s.Want, "rank") + " together", Why: apart, Required: true,
			Hint: "build nccl-tests with MPI=1, and see that srun --mpi=list has pmix"}), nil
	}
	if !s.Whole {
		all = append(all, verify.Result{Check: name + "-sizes", On: s.On, Verdict: verify.Blind, Why: "not all was measured: " + strings.Join(s.Problems, "; ")})
	}
	if s.Ranks == 1 || s.Want == 1 {
		return append(all, verify.Result{Check: name + "-bandwidth", On: s.On, Verdict: verify.Skip, Why: "one rank sends nothing: a bus bandwidth is of two or more"}), nil
	}
	all = append(all, s.bandwidth(name))
	return all, []verify.Series{s.series()}
}

// apart says that ranks did not measure together, empty if they did or nobody says which ranks there were.
func (s CollectiveSeen) apart() string {
	type rank struct{ group, number int }
	ranks := map[rank]bool{}
	for _, d := range s.Devices {
		ranks[rank{d.Group, d.Rank}] = true
	}
	if s.Want == 0 || len(ranks) == 0 || len(ranks) >= s.Want {
		return ""
	}
	return fmt.Sprintf("%s of %d measured together: nccl-tests is built without MPI, or its MPI does not know Slurm's", count.Of(len(ranks), "rank"), s.Want)
}

// best is the measure of a row that counts: the one that was wrong, else the faster one.
func best(r meter.Row) *meter.Measure {
	switch {
	case r.OutOfPlace == nil:
		return r.InPlace
	case r.InPlace == nil || r.OutOfPlace.BusGBps >= r.InPlace.BusGBps:
		return r.OutOfPlace
	}
	return r.InPlace
}

// data judges that what arrived was right.
func (s CollectiveSeen) data(name string) verify.Result {
	r := verify.Result{Check: name + "-data", On: s.On, Verdict: verify.Pass, Want: "no wrong value", Required: true, Source: "what the ranks have sent"}
	var wrong int64
	checked := 0
	for _, row := range s.Rows {
		for _, m := range []*meter.Measure{row.OutOfPlace, row.InPlace} {
			if m != nil && m.Wrong != nil {
				checked++
				wrong += *m.Wrong
			}
		}
	}
	if s.OutOfBounds != nil {
		wrong = max(wrong, *s.OutOfBounds)
	}
	switch {
	case wrong > 0 || len(s.Wrong) > 0:
		r.Verdict, r.Found = verify.Fail, fmt.Sprintf("%d wrong values", wrong)
		r.Why, r.Hint = "data came out wrong", "find the GPU or the node: run it on halves of the nodes, and DCGM's diagnostics on those that are left"
		for _, node := range slices.Sorted(maps.Keys(s.Wrong)) {
			r.Evidence = append(r.Evidence, node+": "+s.Wrong[node])
		}
		r.Evidence = r.Evidence[:min(len(r.Evidence), 12)]
	case len(s.Rows) == 0:
		r.Verdict, r.Why = verify.Blind, cmp.Or(strings.Join(s.Problems, "; "), "nothing was measured")
	case checked == 0 && s.OutOfBounds == nil:
		r.Verdict, r.Why = verify.Blind, "the data were not compared"
	default:
		r.Found = fmt.Sprintf("no wrong value in %s", count.Of(len(s.Rows), "size"))
	}
	return r
}

// peak is the fastest row: of those whose bandwidth means something if there are any.
func (s CollectiveSeen) peak() (row meter.Row, gbps float64, large bool) {
	for _, r := range s.Rows {
		m := best(r)
		if m == nil {
			continue
		}
		isLarge := r.Bytes >= expect.BusLeast
		if isLarge && !large || isLarge == large && m.BusGBps >= gbps {
			row, gbps, large = r, m.BusGBps, isLarge
		}
	}
	return row, gbps, large
}

// Peak is the bus bandwidth of the fastest row, of those of 1 GiB and more if there are any; 0 if nothing was measured.
func Peak(c meter.Collective) float64 {
	_, gbps, _ := CollectiveSeen{Collective: c}.peak()
	return gbps
}

func (s CollectiveSeen) bandwidth(name string) verify.Result {
	row, gbps, large := s.peak()
	r := verify.Result{
		Check: name + "-bandwidth", On: s.On, Verdict: verify.Pass, Value: &verify.Value{Number: gbps, Unit: "GB/s"},
		Found: fmt.Sprintf("bus bandwidth %.4g GB/s with messages of %s", gbps, count.Size(float64(row.Bytes))),
	}
	if s.Note != "" {
		r.Evidence = []string{s.Note}
	}
	right, exact := s.Right.For(row.Bytes)
	switch {
	case right > 0 && !large:
		r.Verdict, r.Value = verify.Blind, nil
		r.Why = "no message of 1 GiB or more was measured: smaller ones do not come to the bandwidth that is expected"
	case right > 0:
		r.Value.Expected = right
		r.Want, r.Source = fmt.Sprintf("%.4g GB/s (%s)", right, s.Right.Confidence), busRule+s.Right.Source
		s.hold(&r, gbps/right, s.soft(exact))
		if gbps/right < busFar {
			r.Verdict = verify.Fail
		}
	case !s.Whole && !large:
		r.Verdict, r.Value = verify.Blind, nil
		r.Why = "larger messages were not measured, of which the bandwidth is"
	case s.Earlier != nil:
		s.beside(&r, row)
	default:
		r.Why = "measured, and not judged: " + cmp.Or(s.Right.Unknown, "no bandwidth is known for such nodes")
	}
	return r
}

// soft is why being too slow is no failure, empty if it is one.
func (s CollectiveSeen) soft(exact bool) string {
	switch {
	case s.Right.Confidence == expect.Extrapolated:
		return "nobody has published this very measurement"
	case !exact:
		return "the expected bandwidth is that of larger messages"
	}
	return ""
}

func (s CollectiveSeen) hold(r *verify.Result, part float64, soft string) {
	if part >= busWarn {
		return
	}
	r.Verdict, r.Why = verify.Warn, fmt.Sprintf("it is %.0f %% of what is expected", 100*part)
	if part < busFail && soft == "" {
		r.Verdict = verify.Fail
	}
	if soft != "" {
		r.Why += "; " + soft
	}
	r.Hint = "see the suites efa and gpu, and which node is slow: `muster verify network`"
}

// beside compares with an earlier report: the largest size that both have.
func (s CollectiveSeen) beside(r *verify.Result, at meter.Row) {
	for i := len(s.Rows) - 1; i >= 0; i-- {
		m := best(s.Rows[i])
		for _, p := range s.Earlier.Points {
			if m == nil || p.X != float64(s.Rows[i].Bytes) || p.Y <= 0 {
				continue
			}
			size := count.Size(float64(s.Rows[i].Bytes))
			if s.Rows[i].Bytes != at.Bytes { // the peak stays the value, which other reports compare
				r.Found += fmt.Sprintf("; %.4g GB/s with %s", m.BusGBps, size)
			}
			r.Want, r.Source = fmt.Sprintf("%.4g GB/s with messages of %s, as before", p.Y, size), busRule+cmp.Or(s.EarlierSource, "the earlier report")
			s.hold(r, m.BusGBps/p.Y, s.Loose)
			return
		}
	}
	r.Why = "measured, and compared with nothing: the earlier report has none of these sizes"
}

func (s CollectiveSeen) series() verify.Series {
	out := verify.Series{Name: cmp.Or(s.Name, "collective"), On: s.On, XUnit: "B", YUnit: "GB/s", Source: s.Right.Source}
	for _, r := range s.Rows {
		if m := best(r); m != nil {
			out.Points = append(out.Points, verify.Point{X: float64(r.Bytes), Y: m.BusGBps})
			out.Expected, _ = s.Right.For(r.Bytes)
		}
	}
	return out
}
