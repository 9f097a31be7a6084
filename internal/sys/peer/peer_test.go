package peer

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestUID(t *testing.T) {
	for network, want := range map[string]int{"unix": os.Getuid(), "tcp": -1} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		socket, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		go func() {
			if conn, err := net.Dial(network, socket.Addr().String()); err == nil {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 1))
			}
		}()
		conn, err := socket.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := UID(conn); got != want {
			t.Errorf("%s: got %d, want %d", network, got, want)
		}
		conn.Close()
	}
}
