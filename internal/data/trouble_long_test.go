package data_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
	"github.com/muster-hpc/muster/test/soak"
)

// outage is for how long the server is gone in TestSoak_server_is_gone_for_a_minute.
const outage = time.Minute

// TestSoak_server_is_gone_for_a_minute has the server go when the bucket was found, before the first request of the push, and come back a
// minute later. It waits in earnest: what it costs is time alone, beside other tests.
func TestSoak_server_is_gone_for_a_minute(t *testing.T) {
	soak.Only(t, "waits for a minute; TestTroubleIsEndured has servers that are gone for less")
	t.Parallel()
	_, config := storetest.Stand(t)
	proxy, config := faults.New(t, config)
	config.Bucket = "bucket"
	config = store.Located(t.Context(), config)
	config.Patience = 5 * time.Minute
	var missed atomic.Int64
	config.Bell = func(error, time.Duration) { missed.Add(1) }
	b := newBench(t, open(t, config))
	b.MakeBucket = true
	b.write("a", "1")
	proxy.Gone()
	began := time.Now()
	back := time.AfterFunc(outage, proxy.Back)
	defer back.Stop()
	b.pushes()
	if took := time.Since(began); took < outage || missed.Load() < 4 {
		t.Errorf("it took %s, and the server was missed %d times", took, missed.Load())
	}
	b.wants(b.files())
}
