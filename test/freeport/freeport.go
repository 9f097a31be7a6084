// Package freeport finds ports for programs that cannot be given an open socket. They lie below those that the kernel
// hands out by itself, so that no other program's connection takes one before the program that is to listen there starts.
package freeport

import (
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// OnLoopback returns a port of 127.0.0.1 at which nobody listens.
func OnLoopback(t testing.TB) int {
	t.Helper()
	first, end := span(lowestOfKernel(t))
	for range 100 {
		port := first + rand.IntN(end-first)
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			l.Close()
			return port
		}
	}
	t.Fatalf("found no free port between %d and %d", first, end)
	return 0
}

// span are the ports to choose from, from first up to end, which is none of them. Where the kernel hands out nearly all ports, so do we.
func span(lowestOfKernel int) (first, end int) {
	if lowestOfKernel < 12000 {
		return lowestOfKernel, 1 << 16
	}
	return 10000, lowestOfKernel
}

// lowestOfKernel is the lowest port that the kernel hands out by itself.
func lowestOfKernel(t testing.TB) int {
	t.Helper()
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	low, err := strconv.Atoi(strings.Fields(string(data))[0])
	if err != nil {
		t.Fatal(err)
	}
	return low
}
