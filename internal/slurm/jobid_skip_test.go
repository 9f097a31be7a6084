package slurm

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// stateOf is what slurmctld saves, with a job behind the head.
func stateOf(next uint32) string {
	return "\x00\x00\x00\x11PROTOCOL_VERSION\x00\x26\x00\x00\x00\x00\x00\x6b\x03\x02\x98" + string(binary.BigEndian.AppendUint32(nil, next)) + "a job"
}

func TestNextAfterLoss(t *testing.T) {
	for saved, want := range map[int]int{0: 0, 1: 10_001, 43: 10_043, LastJobID - 10_000: LastJobID, LastJobID - 9_999: LastJobID - 9_999, 67_043_327: 67_043_327} {
		if got := NextAfterLoss(saved); got != want {
			t.Errorf("after %d it is %d, want %d", saved, got, want)
		}
	}
}

func TestSkipLostJobIDs(t *testing.T) {
	for _, row := range []struct {
		name           string
		state, old     string // "" is no file
		want           int
		newState, newO string
	}{
		{"nothing_was_saved", "", "", 0, "", ""},
		{"saved", stateOf(43), stateOf(41), 10_043, stateOf(10_043), stateOf(10_043)},
		{"died_while_saving", "", stateOf(41), 10_041, "", stateOf(10_041)},
		{"first_save", stateOf(3), "", 10_003, stateOf(10_003), ""},
		{"near_the_largest", stateOf(67_000_000), stateOf(66_999_990), 67_000_000, stateOf(67_000_000), stateOf(67_000_000)},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"job_state": row.state, "job_state.old": row.old} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := SkipLostJobIDs(dir); got != row.want || err != nil {
				t.Errorf("got %d, %v, want %d", got, err, row.want)
			}
			for name, want := range map[string]string{"job_state": row.newState, "job_state.old": row.newO} {
				if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want || (err == nil) != (want != "") {
					t.Errorf("%s is %q, %v, want %q", name, got, err, want)
				}
			}
		})
	}
}

// TestSkipLostJobIDs_leaves_what_it_cannot_read: a later version's file, or half a one.
func TestSkipLostJobIDs_leaves_what_it_cannot_read(t *testing.T) {
	for _, text := range []string{"", "\x00\x00\x00\x11PROTO", "\x00\x00\x00\x11" + stateOf(3)[5:]} {
		dir := t.TempDir()
		path := filepath.Join(dir, "job_state")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		id, err := SkipLostJobIDs(dir)
		if got, _ := os.ReadFile(path); err == nil || id != 0 || string(got) != text {
			t.Errorf("%q became %q: %d, %v", text, got, id, err)
		}
	}
	if _, err := SkipLostJobIDs(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a directory that is not there has IDs")
	}
}
