package nodes

import (
	"sync"
	"time"
)

// arrivals keeps connections that have not logged in from becoming too many. Nobody but
// its server knows whether one has; each has by the end of a time, or its server ends it.
// So those count that are younger, by where they come from: who opens connections and says
// nothing on them keeps nobody else out, and himself only for that time.
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

// grown says that one of these has ended, or has logged in.
func (a *arrivals) grown(c arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.young[c]--; a.young[c] == 0 {
		delete(a.young, c)
	}
}
