package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// secondsFile has how long each package took when -record was given last: what estimates and the order rest on.
const secondsFile = "seconds.tsv"

// readSeconds reads it. Its lines are: mode, directory, seconds.
func readSeconds(path string) (map[string]float64, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]float64{}, nil
	} else if err != nil {
		return nil, err
	}
	seconds := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("%s: %q is not a mode, a directory and seconds", path, line)
		}
		if seconds[f[0]+" "+f[1]], err = strconv.ParseFloat(f[2], 64); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
	}
	return seconds, nil
}

// keepSeconds writes them with those of the packages that have run now.
func (s *schedule) keepSeconds(path string, seconds map[string]float64) error {
	for _, r := range s.done {
		seconds[mode(s.soak)+" "+r.dir] = r.took.Seconds()
	}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(seconds)) {
		fmt.Fprintf(&text, "%s\t%.1f\n", strings.ReplaceAll(key, " ", "\t"), seconds[key])
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
