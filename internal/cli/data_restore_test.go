package cli

import "testing"

// TestRestored_came calls no file proven of which nothing is known but its size.
func TestRestored_came(t *testing.T) {
	for _, c := range []struct {
		r    restoreAnswer
		want string
	}{
		{restoreAnswer{Fetched: fileCount{Files: 3}}, "3 files fetched and proven"},
		{restoreAnswer{Fetched: fileCount{Files: 3}, Kept: fileCount{Files: 2}}, "3 files fetched and proven, 2 from before"},
		{restoreAnswer{Fetched: fileCount{Files: 3}, Unproven: 1}, "3 files fetched; of all 2 are proven and 1 not"},
		{restoreAnswer{Fetched: fileCount{Files: 1}, Kept: fileCount{Files: 2}, Unproven: 3}, "1 file fetched, 2 from before; of all 0 are proven and 3 not"},
	} {
		if got := c.r.came(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestRestored_lengths says of how many files the length is known to be right.
func TestRestored_lengths(t *testing.T) {
	for want, r := range map[string]restoreAnswer{
		"no file says how long it has to be": {Size: fileCount{Files: 3}},
		"length checked of 2 of 3 files":     {Size: fileCount{Files: 3}, Checked: 2},
		"length checked of 1 of 1 file":      {Size: fileCount{Files: 1}, Checked: 1},
	} {
		if got := r.lengths(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
