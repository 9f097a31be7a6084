package freeport

import (
	"net"
	"strconv"
	"testing"
)

func TestOnLoopback(t *testing.T) {
	port := OnLoopback(t)
	if first, end := span(lowestOfKernel(t)); port < first || port >= end {
		t.Errorf("port %d, want one from %d up to %d", port, first, end)
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestSpan(t *testing.T) {
	for low, want := range map[int][2]int{32768: {10000, 32768}, 12000: {10000, 12000}, 1024: {1024, 65536}} {
		if first, end := span(low); first != want[0] || end != want[1] {
			t.Errorf("the kernel's from %d on: %d to %d, want %d", low, first, end, want)
		}
	}
}
