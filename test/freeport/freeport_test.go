package freeport

import (
	"net"
	"strconv"
	"testing"
)

func TestOnLoopback(t *testing.T) {
	port := OnLoopback(t)
	if low := lowestOfKernel(t); port >= low {
		t.Errorf("port %d is one that the kernel hands out, from %d on", port, low)
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
