package controller

import (
	"io"
	"net"
	"net/http"
	"sync"
)

// connect joins the caller with a service of the head node, whose network he is not in.
func (c *Controller) connect(w http.ResponseWriter, r *http.Request) {
	address, ok := c.Doors[r.PathValue("service")]
	if !ok {
		http.Error(w, "there is no such service", http.StatusNotFound)
		return
	}
	var dialer net.Dialer
	service, err := dialer.DialContext(r.Context(), "tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer service.Close()
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "muster")
	w.WriteHeader(http.StatusSwitchingProtocols)
	caller, early, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // he has gone
	}
	defer caller.Close()
	Join(caller, early.Reader, service)
}

// Join carries bytes between two connections until both have said their last. What one
// says is read from said.
func Join(a net.Conn, said io.Reader, b net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { carry(b, said) })
	both.Go(func() { carry(a, b) })
	both.Wait()
}

// carry carries one direction to its end, and says so.
func carry(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	to.Close()
}
