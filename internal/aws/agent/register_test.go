package agent

import (
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/services/supervise"
)

func TestRegister(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	path := filepath.Join(t.TempDir(), "status.json")
	if err := register(path); err == nil {
		t.Error("no services, and no error")
	}
	for _, row := range []struct {
		phase supervise.Phase
		want  bool
	}{{supervise.Starting, false}, {supervise.Ready, true}} {
		data, err := json.Marshal([]supervise.Status{{Name: "munged"}, {Name: "slurmd", PID: os.Getpid(), Phase: row.phase}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := register(path); (err == nil) != row.want {
			t.Errorf("slurmd is %s: %v", row.phase, err)
		}
	}
	select {
	case <-heard:
	case <-time.After(5 * time.Minute):
		t.Error("slurmd heard nothing")
	}
}
