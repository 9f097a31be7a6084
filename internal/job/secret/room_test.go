package secret_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

// TestStore_bounds_users: one user's secrets take so much and no more, whatever the others have, also when the store is
// opened anew; and the room of jobs that are over is free again.
func TestStore_bounds_users(t *testing.T) {
	for name, row := range map[string]struct {
		value, says string
		jobs        int
	}{
		"by_number": {"x", "4096 jobs of yours have secrets", 4096},
		"by_size":   {strings.Repeat("x", 250<<10), "the secrets of your jobs would take ", 98},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "secrets")
			q := &queue{}
			for id := range row.jobs + 1 {
				q.jobs = append(q.jobs, slurm.Job{ID: id + 1, UID: mine, State: "PENDING"})
			}
			q.jobs = append(q.jobs, slurm.Job{ID: 9001, UID: theirs, State: "PENDING"})
			s := open(t, dir, q)
			if err := s.Keep(t.Context(), 1, mine, values(row.value)); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "1.json"))
			for id := 2; id <= row.jobs && err == nil; id++ { // as Keep writes them, without waiting for the disk
				of := strings.Replace(string(text), `"job":1,`, fmt.Sprintf(`"job":%d,`, id), 1)
				err = os.WriteFile(filepath.Join(dir, fmt.Sprint(id)+".json"), []byte(of), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, q)
			last := row.jobs + 1
			if err := s.Keep(t.Context(), last, mine, values(row.value)); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("one more: %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "1.json")); err != nil {
				t.Error(err)
			}
			if err := s.Keep(t.Context(), 1, mine, values(row.value)); err != nil {
				t.Errorf("the same job again: %v", err)
			}
			if err := s.Keep(t.Context(), 9001, theirs, values(row.value)); err != nil {
				t.Errorf("another user: %v", err)
			}
			q.jobs[0].State = "COMPLETED"
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Keep(t.Context(), last, mine, values(row.value)); err != nil {
				t.Errorf("after one is over: %v", err)
			}
		})
	}
}
