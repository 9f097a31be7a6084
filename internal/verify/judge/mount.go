package judge

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

// mountAt is the file system that is mounted at a directory.
func mountAt(f *verify.Facts, dir string) (verify.Mount, sight) {
	all, blind := f.Mounts.See()
	if blind != "" {
		return verify.Mount{}, sight{blind: blind}
	}
	i := slices.IndexFunc(all, func(m verify.Mount) bool { return m.Dir == dir })
	if i < 0 {
		return verify.Mount{}, sight{text: "not mounted", verdict: verify.Fail, why: "nothing is mounted at " + dir}
	}
	return all[i], sight{text: all[i].Type}
}

func mounted(f *verify.Facts, e expect.Expectation) []sight {
	_, s := mountAt(f, e.On)
	return []sight{s}
}

func writable(f *verify.Facts, e expect.Expectation) []sight {
	m, s := mountAt(f, e.On)
	if s.blind == "" && s.verdict == "" {
		s.text = "rw"
		if m.ReadOnly {
			s.text, s.verdict = "read-only", verify.Fail
		}
	}
	return []sight{s}
}

// measured is a file system whose size was seen.
func measured(f *verify.Facts, e expect.Expectation) (verify.Mount, sight) {
	m, s := mountAt(f, e.On)
	if s.blind == "" && m.Blind != "" {
		s = sight{blind: m.Blind}
	}
	return m, s
}

func size(f *verify.Facts, e expect.Expectation) []sight {
	m, s := measured(f, e)
	if s.blind == "" && s.verdict == "" {
		s = sight{text: count.Bytes(m.SizeBytes), number: float64(m.SizeBytes), numeric: true}
	}
	return []sight{s}
}

func free(f *verify.Facts, e expect.Expectation) []sight {
	m, s := measured(f, e)
	if s.blind == "" && s.verdict == "" {
		s = share(m.FreeBytes, m.SizeBytes, count.Bytes(m.FreeBytes))
	}
	return []sight{s}
}

func inodes(f *verify.Facts, e expect.Expectation) []sight {
	m, s := measured(f, e)
	if s.blind == "" && s.verdict == "" {
		s = share(m.FreeInodes, m.Inodes, strconv.FormatInt(m.FreeInodes, 10)+" inodes")
	}
	return []sight{s}
}

// share is how much of something is free, in percent.
func share(free, all int64, text string) sight {
	if all <= 0 {
		return sight{none: "the file system does not count this"}
	}
	percent := 100 * float64(free) / float64(all)
	return sight{text: fmt.Sprintf("%.0f %% free, %s", percent, text), number: percent, numeric: true}
}

func shm(f *verify.Facts, _ expect.Expectation) []sight {
	return size(f, expect.Expectation{On: "/dev/shm"})
}
