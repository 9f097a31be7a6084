// Package growth compares in tests how work grows with its input. It measures the processors' time for this process, and
// compares it with that of a smaller input: so it holds on any machine, however slow or busy. It leaves out how long work takes,
// which benchmarks say. Tests that use it are not parallel.
package growth

import (
	"syscall"
	"testing"
	"time"
)

const (
	// part is the size of the smaller input, in parts of the larger one.
	part = 8
	// slack is how many times more than in proportion the larger input may take: its square would take 8 times more.
	slack = 4
	// noticed is how long work takes whose growth matters. What is shorter cannot be measured well.
	noticed = time.Second
)

// Linear does work for an input of size n, and fails the test if it grows with the square of n or faster.
func Linear(t testing.TB, n int, work func(n int)) {
	t.Helper()
	whole := taken(t, func() { work(n) })
	if whole < noticed {
		return
	}
	if small := taken(t, func() { work(n / part) }); steep(whole, small) {
		t.Errorf("size %d takes %v of the processors, and size %d takes %v", n, whole, n/part, small)
	}
}

// steep reports whether work grows faster than its input.
func steep(whole, small time.Duration) bool { return whole > slack*part*small }

// taken measures the processors' time that something takes.
func taken(t testing.TB, do func()) time.Duration {
	t.Helper()
	before := Busy(t)
	do()
	return Busy(t) - before
}

// Busy returns for how long processors have worked for this process.
func Busy(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
