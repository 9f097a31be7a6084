package batch

import "strings"

// defaultArraySize is MaxArraySize where slurm.conf does not say otherwise: the numbers of
// an array's tasks are below it.
const defaultArraySize = 1001

// arrayLimit finds numbers of tasks that the cluster does not take.
func (s *script) arrayLimit() {
	o, ok := s.option("array")
	limit := s.facts.maxArraySize()
	if highest := highestTask(o.Value); ok && limit > 0 && highest >= limit {
		s.errorf("script/array-limit", s.at(o), "%s, and the numbers of an array's tasks go up to %d on this cluster: Slurm says \"Invalid job array specification\"", o.written(), limit-1).
			WithHint("let each task do several pieces of work, or set MaxArraySize in CustomSlurmSettings")
	}
}

// maxArraySize is MaxArraySize, 0 if it is not known.
func (f *Facts) maxArraySize() int {
	if f == nil {
		return 0
	}
	if f.Asked != nil && number(f.Asked.Conf["MaxArraySize"]) > 0 {
		return number(f.Asked.Conf["MaxArraySize"])
	}
	return f.ArraySize
}

// singleTask tells whether the value of --array is one task, as 7 and 0-0 are.
func singleTask(text string) bool {
	m := arrayPart().FindStringSubmatch(text)
	return m != nil && (m[3] == "" || number(m[1]) == number(m[3]))
}

// highestTask is the highest number in the value of --array.
func highestTask(text string) int {
	highest := 0
	for item := range strings.SplitSeq(text, ",") {
		m := arrayPart().FindStringSubmatch(item)
		if m == nil {
			return 0
		}
		for _, digits := range []string{m[1], m[3]} {
			digits = strings.TrimLeft(digits, "0")
			if len(digits) > 7 {
				return 1e7
			}
			highest = max(highest, number(digits))
		}
	}
	return highest
}
