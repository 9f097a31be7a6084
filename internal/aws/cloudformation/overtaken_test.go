package cloudformation_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// TestOvertaken has somebody else change the stack right after one of our calls. If
// that was the same change, all is well. Otherwise it says what happened, and ours is
// neither made nor left behind.
func TestOvertaken(t *testing.T) {
	want := cloudformation.Stack{Name: "s", Template: []byte(twoGroups), Parameters: map[string]string{"Text": "ours"}}
	for _, operation := range []string{"CreateChangeSet", "DescribeChangeSet"} {
		for _, row := range []struct {
			name, text string
			there      bool // before anybody changes it
			done       bool // the other's change ends before our next call
		}{
			{"same_creation", "ours", false, true},
			{"same_change", "ours", true, true},
			{"same_change_goes_on", "ours", true, false},
			{"other_change", "theirs", true, true},
			{"other_change_goes_on", "theirs", true, false},
		} {
			t.Run(operation+"/"+row.name, func(t *testing.T) {
				c, d := start(t)
				ctx := t.Context()
				if row.there {
					if _, _, err := d.Ensure(ctx, cloudformation.Stack{Name: "s", Template: []byte(twoGroups)}); err != nil {
						t.Fatal(err)
					}
				}
				other := want
				other.Parameters = map[string]string{"Text": row.text}
				join := overtake(t, c, operation, other, row.done)
				state, p, err := d.Ensure(ctx, want)
				join()
				if row.text == "ours" {
					if err != nil || state.Parameters["Text"] != "ours" || !state.Good() {
						t.Errorf("got %+v, %+v, %v", state, p, err)
					}
					return
				}
				lost, ok := errors.AsType[*cloudformation.Overtaken](err)
				if !ok || lost.Stack != "s" || !strings.HasPrefix(err.Error(), "another muster is changing stack s: run this again when it has ended (") {
					t.Errorf("got %v", err)
				}
				if state, err := d.Describe(ctx, "s"); err != nil || state.Parameters["Text"] != "theirs" || !state.Good() {
					t.Errorf("the stack is %+v, %v", state, err)
				}
				if state, _, err := d.Ensure(ctx, want); err != nil || state.Parameters["Text"] != "ours" {
					t.Errorf("again: %+v, %v", state, err)
				}
			})
		}
	}
}

// overtake lets another driver make a stack what it is to be once our first call of an
// operation is carried out. join waits until it has.
func overtake(t *testing.T, c *cloud.Cloud, operation string, s cloudformation.Stack, done bool) (join func()) {
	t.Helper()
	var other sync.WaitGroup
	begun, ended := make(chan struct{}), make(chan struct{})
	lift := c.Fail(cloud.Rule{Operation: operation, Kind: cloud.Delayed, Times: 1, Then: func(*wire.Call) {
		d := cloudformation.New(c.Config())
		once := sync.OnceFunc(func() { close(begun) })
		d.Waiting = func(string, string, time.Duration) { once() }
		other.Go(func() {
			defer close(ended)
			if _, _, err := d.Ensure(t.Context(), s); err != nil {
				t.Errorf("the other: %v", err)
			}
		})
		if !done {
			select {
			case <-begun:
			case <-ended:
			}
			return
		}
		<-ended
	}})
	return func() {
		lift()
		other.Wait()
	}
}
