package export

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestScan_follows_no_link_of_a_user(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"mount/mine/runs", "mount/others"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"mount/mine/inside": "../others", "mount/mine/outside": top, "trusted": "mount"} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, dir, trusted string
		ok                 bool
	}{
		{"a_directory", "mount/mine/runs", "mount", true},
		{"the_mount", "mount", "mount", true},
		{"below_a_link_of_roots", "trusted/mine/runs", "trusted", true},
		{"a_link_within_the_mount", "mount/mine/inside", "mount", false},
		{"a_link_out_of_it", "mount/mine/outside", "mount", false},
		{"below_a_link", "mount/mine/outside/mount", "mount", false},
		{"where_all_is_trusted", "mount/mine/outside", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rule := Rule{Dir: filepath.Join(top, c.dir)}
			if c.trusted != "" {
				rule.Trusted = filepath.Join(top, c.trusted)
			}
			if _, err := Scan(rule); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDecide_waits_for_what_other_machines_write(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name string
		age  time.Duration
		puts int
	}{{"long_ago", time.Hour, 1}, {"late", 29 * time.Second, 0}, {"of_a_clock_ahead", -20 * time.Second, 0}, {"of_another_time", -time.Hour, 1}} {
		t.Run(c.name, func(t *testing.T) {
			seen := tree(file("model.bin", now.Add(-c.age)))
			p := Decide(State{Rule: Rule{New: true}, Pace: Pace{Settle: time.Minute, Late: 30 * time.Second}, Time: now, Tree: seen, Before: &seen})
			if len(p.Puts) != c.puts {
				t.Errorf("got %v", lines(p))
			}
		})
	}
}
