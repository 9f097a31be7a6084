package verify

// worse are the verdicts that decide, the worst first.
var worse = [...]Verdict{Fail, Blind, Warn, Pass, Skip}

// Sum is what results come to: the worst of them. A required one that is blind is a fail, as nothing was proven. No
// results are blind: nobody looked.
func Sum(results []Result) Verdict {
	if len(results) == 0 {
		return Blind
	}
	all := map[Verdict]bool{}
	for _, r := range results {
		if r.Required && r.Verdict == Blind {
			return Fail
		}
		all[r.Verdict] = true
	}
	return worst(all)
}

func worst(all map[Verdict]bool) Verdict {
	for _, v := range worse {
		if all[v] {
			return v
		}
	}
	return Blind
}

// Close sets what follows from the results: the verdicts of suites that have none yet, and those of the whole.
func (r *Report) Close() {
	r.Schema = 1
	r.Counts = map[Verdict]int{}
	all := map[Verdict]bool{}
	for i := range r.Suites {
		s := &r.Suites[i]
		if s.Verdict == "" {
			s.Verdict = Sum(s.Results)
		}
		all[s.Verdict] = true
		for _, result := range s.Results {
			r.Counts[result.Verdict]++
		}
	}
	r.Verdict = worst(all)
	if r.Error != "" && r.Verdict != Fail {
		r.Verdict = Blind
	}
}
