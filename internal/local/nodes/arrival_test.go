package nodes

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := arrivals{most: 2, grace: time.Minute}
		flood, other, elsewhere := arrival{"node 1", "head"}, arrival{"node 2", "head"}, arrival{"node 1", "node 2"}
		admit := func(c arrival, want bool) func() {
			t.Helper()
			left, ok := a.admit(c)
			if ok != want {
				t.Errorf("%v is admitted: %v", c, ok)
			}
			return left
		}
		leave := admit(flood, true)
		admit(flood, true)
		admit(flood, false)
		admit(other, true)
		admit(elsewhere, true)
		leave()
		leave() // it has left once
		admit(flood, true)
		admit(flood, false)
		<-time.After(time.Minute)
		synctest.Wait()
		admit(flood, true)
		admit(flood, true)
		admit(flood, false)
		<-time.After(time.Minute)
		synctest.Wait()
		if len(a.young) != 0 {
			t.Errorf("these are remembered: %v", a.young)
		}
	})
}
