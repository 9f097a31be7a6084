package store_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// leases are credentials without a date, each with the token of its turn. Turns pass as the test wants.
type leases struct {
	keys aws.Credentials

	mu    sync.Mutex // guards what follows
	turn  string
	asked int
	then  func()
}

func (l *leases) Retrieve(context.Context) (aws.Credentials, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if l.then != nil {
		l.then()
	}
	c := l.keys
	c.SessionToken = l.turn
	return c, nil
}

// TestExpiredCredentialsAreAskedForAgain has the place refuse what neither the SDK nor we know to be too old. There are new ones only when
// they were asked for three times, as when somebody has to log in. Reads and writes, with a cache of the caller's own and without.
func TestExpiredCredentialsAreAskedForAgain(t *testing.T) {
	for name, config := range servers(t) {
		keys, err := config.Keys().Retrieve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, cached := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				proxy, config := faults.New(t, config)
				l := &leases{keys: keys, turn: "one"}
				config.Credentials = l
				if cached {
					config.Credentials = aws.NewCredentialsCache(l)
				}
				s := patient(t, config)
				comesBack(t, s, 1000)
				proxy.Expire("one")
				l.mu.Lock()
				l.asked = 0
				l.then = func() {
					if l.asked == 3 {
						l.turn = "two"
					}
				}
				l.mu.Unlock()
				comesBack(t, s, 1000)
				comesBack(t, s, 5<<20+1)
				if l.asked != 3 {
					t.Errorf("they were asked for %d times", l.asked)
				}
			})
		}
	}
}

// TestExpiredCredentialsOfHead: its answer does not say what is wrong.
func TestExpiredCredentialsOfHead(t *testing.T) {
	config := servers(t)["stand"]
	keys, err := config.Keys().Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	proxy, config := faults.New(t, config)
	l := &leases{keys: keys, turn: "one"}
	config.Credentials = l
	s := patient(t, config)
	comesBack(t, s, 1000)
	proxy.Expire("one")
	if _, err := s.Head(t.Context(), "key"); err == nil {
		t.Error("credentials that stay expired are good for HEAD")
	}
	l.turn = "two"
	if _, err := s.Head(t.Context(), "key"); err != nil {
		t.Error(err)
	}
}

// TestClockIsWrong has the server's clock before ours and behind it, which is the same as ours behind the server's and before it.
func TestClockIsWrong(t *testing.T) {
	for name, config := range servers(t) {
		for _, by := range []time.Duration{time.Hour, -26 * time.Hour} {
			t.Run(name+by.String(), func(t *testing.T) {
				proxy, config := faults.New(t, config)
				s := patient(t, config)
				proxy.Skew(by)
				if err := patient(t, config).MakeBucket(t.Context()); err != nil {
					t.Errorf("who begins now: %v", err)
				}
				comesBack(t, s, 1000)
				comesBack(t, s, 5<<20+1)
				proxy.Skew(0)
				comesBack(t, s, 1000)
			})
		}
	}
}

// TestExpiredCredentialsEnd has no new ones come: the error says what renews them. Those of the environment are not waited for.
func TestExpiredCredentialsEnd(t *testing.T) {
	for _, row := range []struct {
		name, source string
		waits        bool
	}{
		{"of_the_environment", "EnvConfigCredentials", false},
		{"of_another_source", "SSOProvider", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			config := servers(t)["stand"]
			keys, err := config.Keys().Retrieve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			proxy, config := faults.New(t, config)
			keys.Source = row.source
			config.Credentials, config.Renewal = &leases{keys: keys, turn: "one"}, "log in again"
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var told error
			var mu sync.Mutex // guards told
			config.Bell = func(err error, _ time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				told = err
				stop()
			}
			s := patient(t, config)
			comesBack(t, s, 1000)
			proxy.Expire("one")
			_, err = s.Put(ctx, store.Upload{Key: "key", Body: bytes.NewReader([]byte("x")), SizeBytes: 1})
			mu.Lock()
			defer mu.Unlock()
			if waited := told != nil; waited != row.waits {
				t.Errorf("waited: %v, %v", waited, told)
			}
			if row.waits && !errors.Is(told, store.ErrCredentials) {
				t.Errorf("the wait is for %v", told)
			}
			if !row.waits && (!errors.Is(err, store.ErrCredentials) || !strings.Contains(err.Error(), "log in again")) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// TestExpiredCredentialsEndInTime has the time for new ones be over.
func TestExpiredCredentialsEndInTime(t *testing.T) {
	config := servers(t)["stand"]
	keys, err := config.Keys().Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	proxy, config := faults.New(t, config)
	config.Credentials, config.Renewal = &leases{keys: keys, turn: "one"}, "log in again"
	comesBack(t, patient(t, config), 1000)
	proxy.Expire("one")
	config.Bucket, config.Patience, config.Known = "bucket", time.Millisecond, true
	s, err := store.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	s.Hurry()
	_, err = s.Put(t.Context(), store.Upload{Key: "key", Body: bytes.NewReader([]byte("x")), SizeBytes: 1})
	if !errors.Is(err, store.ErrCredentials) || !strings.Contains(err.Error(), "times within") || !strings.HasSuffix(err.Error(), "; log in again") {
		t.Errorf("it ends with %v", err)
	}
}
