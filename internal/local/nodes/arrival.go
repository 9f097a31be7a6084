package nodes

import (
	"sync"
	"time"
)

// arrivals limits the connections of each source that have not logged in yet. Only the
// SSH server knows whether a connection has logged in, but it ends those that have not
// after a grace. So connections younger than the grace are counted: a client that opens
// many and does not log in keeps out only itself, and only for that time.
type arrivals struct {
	// most is how many may come from one place to another.
	most  int
	grace time.Duration

	mu    sync.Mutex // guards young
	young map[arrival]int
}

// arrival is from where a connection comes, and to which machine.
type arrival struct{ from, to string }

// admit takes a connection in. left is called when it has ended.
func (a *arrivals) admit(c arrival) (left func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.young[c] >= a.most {
		return nil, false
	}
	if a.young == nil {
		a.young = map[arrival]int{}
	}
	a.young[c]++
	grown := sync.OnceFunc(func() { a.grown(c) })
	timer := time.AfterFunc(a.grace, grown)
	return func() { timer.Stop(); grown() }, true
}

// grown says that a connection has ended or outlived its grace.
func (a *arrivals) grown(c arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.young[c]--; a.young[c] == 0 {
		delete(a.young, c)
	}
}
