package boot

import (
	"errors"
	"slices"
	"testing"
)

func TestCalm(t *testing.T) {
	const off = "systemctl disable --now fwupd-refresh.timer"
	for name, row := range map[string]struct {
		is, want string
		fails    map[string]error
		ran      bool
	}{
		"on":       {is: "enabled\n", want: "switched off fwupd-refresh.timer", ran: true},
		"off":      {is: "disabled\n"},
		"masked":   {is: "masked\n"},
		"no_timer": {},
		"stubborn": {is: "enabled\n", want: "fwupd-refresh.timer goes on: no bus", fails: map[string]error{off: errors.New("no bus")}, ran: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{answers: map[string]string{"systemctl is-enabled fwupd-refresh.timer": row.is}, fails: row.fails}
			m := machineOf(t, f, "")
			put(t, m, "/run/systemd/system/x", "")
			if got := m.Calm(t.Context()); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if slices.Contains(f.ran, off) != row.ran {
				t.Errorf("ran %q", f.ran)
			}
		})
	}
	f := &fake{}
	if got := machineOf(t, f, "").Calm(t.Context()); got != "" || len(f.ran) > 0 {
		t.Errorf("without systemd: %q, ran %q", got, f.ran)
	}
}
