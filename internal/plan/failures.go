package plan

import (
	"math"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// confidence is how sure it shall be that spare nodes are enough.
const confidence = 0.95

// MTBF is the mean time between unexpected interruptions of a number of GPUs in
// hours, if they come as they did to Llama 3.
func MTBF(gpus int) float64 { return 1 / (catalog.Llama3.PerGPUHour() * float64(gpus)) }

// Interval is the time between checkpoints, in seconds, at which the least is
// lost, for a time that one takes and a mean time between interruptions, both in
// seconds: Young's square root, and Daly's higher order where writing takes more
// than a hundredth of the time between interruptions, for there they differ by
// more than 5 %.
//
//	J. W. Young, Commun. ACM 17 (1974) 530, https://doi.org/10.1145/361147.361115
//	J. T. Daly, Future Gener. Comput. Syst. 22 (2006) 303, https://doi.org/10.1016/j.future.2004.11.016
func Interval(write, mtbf float64) (seconds float64, formula string) {
	young := math.Sqrt(2 * write * mtbf)
	half := write / (2 * mtbf)
	switch {
	case write <= mtbf/100:
		return young, "Young"
	case half < 1:
		return young*(1+math.Sqrt(half)/3+half/9) - write, "Daly"
	}
	return mtbf, "Daly"
}

// Goodput is the part of the time that moves a model on if it stops for write
// seconds after every interval, loses half of both with each interruption, and
// needs restart seconds to go on, in which it cannot be interrupted. It is a
// first order estimate and never below 0.
func Goodput(interval, write, restart, mtbf float64) float64 {
	return max(0, interval/(interval+write)*(1-(interval+write)/2/mtbf)/(1+restart/mtbf))
}

// Spares is the least number of spares that are enough with the probability
// confidence, if expected failures come before the first replacement does: a
// quantile of Poisson's distribution.
func Spares(expected float64) int {
	if expected > 500 { // there it is nearly the normal distribution, and exp would underflow
		const quantile = 1.645
		return int(math.Ceil(expected + quantile*math.Sqrt(expected)))
	}
	term := math.Exp(-expected)
	sum := term
	k := 0
	for sum < confidence {
		k++
		term *= expected / float64(k)
		sum += term
	}
	return k
}

// failures says what to expect of all GPUs, and of each model.
func failures(e *Estimate, run spec.Run) Failures {
	f := Failures{
		PerGPUHour: catalog.Llama3.PerGPUHour(), MeasuredOn: catalog.Llama3.GPU, Source: catalog.Llama3.Source,
		RestartMinutes: run.RestartMinutes, ReplacementHours: run.ReplacementHours, Confidence: confidence,
	}
	if e.Workload == "" { // the defaults of muster.yaml
		f.RestartMinutes, f.ReplacementHours = 15, 24
	}
	for i := range e.Models {
		t := &e.Models[i]
		if len(t.slots) == 0 || !t.slots[0].node.rated() {
			continue
		}
		f.GPUs += t.GPUs
		t.MTBFHours = MTBF(t.GPUs)
		t.Expected = e.RunHours / t.MTBFHours
	}
	if len(e.Models) == 0 {
		for _, g := range e.Fleet.Groups {
			if g.Node.rated() {
				f.GPUs += g.MaxCount * g.Node.GPUs
			}
		}
	}
	if f.GPUs > 0 {
		f.MTBFHours = MTBF(f.GPUs)
		f.Expected = e.RunHours / f.MTBFHours
	}
	return f
}

// spares says how many nodes of each kind should be left over.
func (e *Estimate) spares() {
	for i := range e.Spare {
		s := &e.Spare[i]
		gpus := 0
		for _, t := range e.Models {
			if t.Queue == s.Queue && t.MTBFHours > 0 && t.slots[0].pool == s.pool {
				gpus += t.GPUs
			}
		}
		if s.Rated = gpus > 0; s.Rated {
			s.Wanted = Spares(e.Failures.ReplacementHours / MTBF(gpus))
		}
	}
}

// BytesPerParameter is what a checkpoint holds for each parameter: the weights,
// with mixed precision a copy of them in 32 bits, and the optimizer's state.
// Gradients are not saved.
func BytesPerParameter(optimizer, precision string) (all, weights float64) {
	weights = 2
	master := 4.0
	if precision == "fp32" {
		weights, master = 4, 0
	}
	switch optimizer {
	case "adam", "adamw":
		return weights + master + 8, weights // two moments of 32 bits
	case "adam8bit":
		return weights + master + 2, weights // two moments of 8 bits
	case "lion", "sgd":
		return weights + master + 4, weights // one moment of 32 bits
	case "adafactor":
		return weights + master, weights // rows and columns only, next to nothing
	}
	return weights, weights // none: the weights alone
}

// checkpoints says of each model what it writes, where, how long and how often.
func (e *Estimate) checkpoints(w *spec.Workload) {
	for i, m := range w.Models {
		t := &e.Models[i]
		if m.Parameters == 0 {
			continue
		}
		each, weights := BytesPerParameter(m.Optimizer, m.Precision)
		c := &Checkpoint{
			BytesPerParameter: each, WeightBytes: weights * m.Parameters, Dir: checkpointDir(m, w), Keep: m.KeepCheckpoints,
		}
		if m.BytesPerParameter > 0 {
			c.BytesPerParameter, c.WeightBytes = m.BytesPerParameter, 0
		}
		c.Bytes = c.BytesPerParameter * m.Parameters
		t.Checkpoint = c
		if f := e.fileSystemOf(c.Dir); f != nil {
			c.FileSystem = f.Name
			c.WriteSeconds = f.writeSeconds(c.Bytes, []Trained{*t})
			f.use(t)
		}
		if c.WriteSeconds > 0 && t.MTBFHours > 0 {
			mtbf, restart := 3600*t.MTBFHours, 60*e.Failures.RestartMinutes
			c.IntervalSeconds, c.Formula = Interval(c.WriteSeconds, mtbf)
			c.Goodput = Goodput(c.IntervalSeconds, c.WriteSeconds, restart, mtbf)
			c.GoodputWithoutSpare = Goodput(c.IntervalSeconds, c.WriteSeconds, restart+3600*e.Failures.ReplacementHours, mtbf)
			c.LostHours = t.Expected * (restart + (c.IntervalSeconds+c.WriteSeconds)/2) / 3600
		}
	}
	for i := range e.FileSystems {
		e.FileSystems[i].sum(e.Models)
	}
}
