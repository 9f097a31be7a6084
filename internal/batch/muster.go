package batch

import (
	"bytes"

	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// musterRules are about lines that are for muster, which says what to do when the job fails.
func (s *script) musterRules() {
	s.list.Append(policy.Read(s.file.name, s.file.data).Problems.All()...)
	s.lateWishes()
	s.misshapenWishes()
}

// lateWishes finds lines that are not read: muster looks for its options where sbatch does.
func (s *script) lateWishes() {
	first := s.firstCommand()
	inText := s.linesInWords()
	for n, found := first+1, 0; n <= len(s.file.starts) && found < maxOptions; n++ {
		line := s.file.line(n)
		if s.shell == "" && (bytes.Contains(line, []byte(`"""`)) || bytes.Contains(line, []byte("'''"))) {
			return // what follows may be text
		}
		if policy.IsLine(line) && !inText[n] {
			found++
			s.errorf("script/muster-line", s.file.place(s.file.starts[n-1]), "muster does not read this line: the first command, in line %d, ends its options", first).
				WithHint("move it above line %d", first)
		}
	}
}

// Lines that look like options, and are comments.
var almostWish = pattern.New(`^(?:[ \t]+#MUSTER[ \t]+-|#[ \t]+MUSTER[ \t]+-|#MUSTER-|#(?i:muster)[ \t]+-)`)

func (s *script) misshapenWishes() {
	for n, first := 1, s.firstCommand(); n < min(first, maxOptions); n++ {
		line := s.file.line(n)
		if policy.IsLine(line) || !almostWish().Match(line) {
			continue
		}
		s.warnf("script/muster-line", s.file.place(s.file.starts[n-1]), "muster takes this line for a comment").
			WithHint("begin the line with #MUSTER and a blank; ##MUSTER says that it is meant so")
	}
}
