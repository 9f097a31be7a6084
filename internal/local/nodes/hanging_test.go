package nodes

import (
	"slices"
	"syscall"
	"testing"
)

func TestHanging(t *testing.T) {
	inWorlds(t, func(t *testing.T, l *Layout) {
		f := openFleet(t, l)
		boot(t, f, testNodes[:2]...)
		anchor := AnchorProcess{PID: ownAnchor}
		pid, err := NodePID(anchor, testNodes[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			signal syscall.Signal
			want   []Hung
		}{{0, nil}, {syscall.SIGSTOP, []Hung{{testNodes[1], pid}}}, {syscall.SIGCONT, nil}} {
			if err := syscall.Kill(pid, c.signal); err != nil {
				t.Fatal(err)
			}
			until(t, c.signal.String(), func() bool {
				got, err := Hanging(anchor)
				return err == nil && slices.Equal(got, c.want)
			})
		}
	})
}
