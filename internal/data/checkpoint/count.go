package checkpoint

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// mostCounted is more than a name says that is the number of files, and not something else.
const mostCounted = 10000

// count notes that the checkpoint itself says how many files with such names there are right in the directory.
func (p *part) count(names *regexp.Regexp) {
	for name := range p.names {
		if names.MatchString(name) {
			p.counted = append(p.counted, kindOf(path.Join(p.dir, name)))
		}
	}
}

// series are files that are numbered without a gap, and say how many they are.
type series struct {
	name  func(n int) string
	from  int
	files int
}

// allOf holds that of files whose names say how many they are, there are all: model-00001-of-00004.safetensors,
// TensorFlow's variables.data-00000-of-00002, and model_world_size_4_rank_0.pt of veRL.
func (p *part) allOf() {
	seen := map[string]bool{}
	for name := range p.names {
		s, ok := p.ofAll(name)
		if !ok {
			s, ok = ofWorld(name)
		}
		if !ok || seen[s.name(s.from)] {
			continue
		}
		seen[s.name(s.from)] = true
		p.counted = append(p.counted, kindOf(path.Join(p.dir, name)))
		for n := s.from; n < s.from+s.files; n++ {
			if !p.has(s.name(n)) {
				p.torn = first(p.torn, path.Join(p.dir, s.name(n))+" is not there")
				break
			}
		}
	}
}

// ofAll is the series of a name such as model-00001-of-00004.safetensors.
func (p *part) ofAll(name string) (series, bool) {
	at := strings.LastIndex(name, "-of-")
	if at < 0 {
		return series{}, false
	}
	begin := strings.LastIndex(name[:at], "-") + 1
	stem, end := name[:begin], name[at:]
	of, have := numbers(end), numbers(name[begin:at])
	if len(of) != 1 || len(have) != 1 || of[0] > mostCounted {
		return series{}, false
	}
	nth := func(n int) string { return fmt.Sprintf("%s%0*d%s", stem, at-begin, n, end) }
	if p.has(nth(0)) {
		return series{nth, 0, of[0]}, patterns().shard.MatchString(name) // others count ranks so, not all of which write
	}
	return series{nth, 1, of[0]}, true
}

// ofWorld is the series of a name such as model_world_size_4_rank_0.pt.
func ofWorld(name string) (series, bool) {
	m := patterns().world.FindStringSubmatch(name)
	if m == nil {
		return series{}, false
	}
	of := numbers(m[2])
	if len(of) != 1 || of[0] > mostCounted {
		return series{}, false
	}
	return series{func(n int) string { return fmt.Sprintf("%s%s_rank_%d%s", m[1], m[2], n, m[3]) }, 0, of[0]}, true
}
