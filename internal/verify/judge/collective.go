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
	// Earlier is the same series of an earlier report of the same cluster, nil if there is none.
	Earlier *verify.Series
	// Loose says why being slower than earlier is no failure, such as that all nodes share one machine's processors.
	Loose string
}

// Parts of an expected bus bandwidth below which it is a warning and a failure.
const (
	busWarn = 0.9
	busFail = 0.8
	busRule = "muster warns below 90 % and fails below 80 % of "
)

// Collective judges a collective: its data, its sizes and its bandwidth.
func Collective(s CollectiveSeen) ([]verify.Result, []verify.Series) {
	name := strings.ReplaceAll(cmp.Or(s.Name, "collective"), "_", "-")
	all := []verify.Result{s.data(name)}
	if len(s.Rows) == 0 {
		return all, nil
	}
	if !s.Whole {
		all = append(all, verify.Result{Check: name + "-sizes", On: s.On, Verdict: verify.Blind, Why: "not all was measured: " + strings.Join(s.Problems, "; ")})
	}
	all = append(all, s.bandwidth(name))
	return all, []verify.Series{s.series()}
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

func (s CollectiveSeen) bandwidth(name string) verify.Result {
	row, gbps, large := s.peak()
	r := verify.Result{
		Check: name + "-bandwidth", On: s.On, Verdict: verify.Pass, Value: &verify.Value{Number: gbps, Unit: "GB/s"},
		Found: fmt.Sprintf("bus bandwidth %.4g GB/s with messages of %d bytes", gbps, row.Bytes),
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
	case s.Earlier != nil:
		s.beside(&r)
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
func (s CollectiveSeen) beside(r *verify.Result) {
	for i := len(s.Rows) - 1; i >= 0; i-- {
		m := best(s.Rows[i])
		for _, p := range s.Earlier.Points {
			if m == nil || p.X != float64(s.Rows[i].Bytes) || p.Y <= 0 {
				continue
			}
			r.Found = fmt.Sprintf("bus bandwidth %.4g GB/s with messages of %d bytes", m.BusGBps, s.Rows[i].Bytes)
			r.Value.Number, r.Value.Expected = m.BusGBps, p.Y
			r.Want, r.Source = fmt.Sprintf("%.4g GB/s, as before", p.Y), busRule+"the earlier report"
			s.hold(r, m.BusGBps/p.Y, s.Loose)
			return
		}
	}
	r.Why = "measured, and not judged: the earlier report has none of these sizes"
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

// Transport judges what NCCL says of its network, on nodes that have some EFA devices. NICs of a node that has none are not judged.
func Transport(on string, n meter.NCCL, efa int) []verify.Result {
	r := verify.Result{Check: "nccl-network", On: on, Verdict: verify.Pass, Source: "NCCL's own lines (NCCL_DEBUG=INFO), and the catalogue's number of EFA devices"}
	var names []string
	socket := false
	for _, used := range n.Networks {
		names = append(names, used.Name)
		socket = socket || strings.HasPrefix(used.Name, "Socket")
	}
	for _, t := range n.Transports {
		socket = socket || strings.HasPrefix(t.Name, "NET/Socket")
	}
	r.Found = strings.Join(names, ", ")
	switch {
	case efa == 0:
		r.Verdict, r.Why = verify.Skip, "these nodes have no EFA"
		return []verify.Result{r}
	case socket:
		r.Verdict, r.Want = verify.Fail, "Libfabric"
		r.Why, r.Hint = "NCCL goes over TCP, though there is EFA", "see the suite efa: aws-ofi-nccl in the image, /dev/infiniband, the library path"
	case len(n.Networks)+len(n.Selected) == 0:
		r.Verdict, r.Why = verify.Blind, "NCCL told nothing of its network"
	}
	return []verify.Result{r, nics(on, n, efa)}
}

// nics judges how many devices the plugin found: the fewest that any rank did.
func nics(on string, n meter.NCCL, efa int) verify.Result {
	r := verify.Result{Check: "nccl-nics", On: on, Verdict: verify.Blind, Want: count.Of(efa, "EFA device"), Source: "the catalogue", Why: "the plugin did not tell how many devices it found"}
	fewest := 0
	for _, s := range n.Selected {
		if s.Provider == "efa" && s.NICs > 0 && (fewest == 0 || s.NICs < fewest) {
			fewest = s.NICs
		}
	}
	if fewest == 0 {
		return r
	}
	r.Verdict, r.Why, r.Found = verify.Pass, "", count.Of(fewest, "EFA device")
	if fewest < efa {
		r.Verdict, r.Hint = verify.Fail, "see `fi_info -p efa` and the security group's rule for itself; replace the node"
		r.Why = fmt.Sprintf("%.0f %% of the network is missing", 100-100*float64(fewest)/float64(efa))
	}
	return r
}
