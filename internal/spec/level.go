package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Level is a schema level: a minor version of AWS ParallelCluster 3, whose keys
// and values a cluster file is read by. The zero value is the newest one.
type Level int

// The levels that are known. A level's number is ParallelCluster's minor one.
const (
	oldest Level = 11
	// Newest is the level of a file that does not say another.
	Newest Level = 16
)

// Levels are all levels, the oldest first.
func Levels() []Level {
	var all []Level
	for l := oldest; l <= Newest; l++ {
		all = append(all, l)
	}
	return all
}

// String is the level as users write it, such as "3.14".
func (l Level) String() string {
	if l == 0 {
		l = Newest
	}
	return fmt.Sprintf("3.%d", int(l))
}

// orNewest is the level itself, or the newest one where it is unknown.
func (l Level) orNewest() Level {
	if l < oldest || l > Newest {
		return Newest
	}
	return l
}

// ParseLevel reads a level: "3.14", or a release of it such as "3.14.2".
func ParseLevel(text string) (Level, error) {
	major, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "v"), ".")
	minor, patch, patched := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	if patched && err == nil {
		_, err = strconv.ParseUint(patch, 10, 16)
	}
	if l := Level(n); err == nil && major == "3" && l >= oldest && l <= Newest {
		return l, nil
	}
	return 0, fmt.Errorf("there is no schema level %s; the levels are %s to %s", quote(text), oldest, Newest)
}
