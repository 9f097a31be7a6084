package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

// zoneOf are names of which nobody makes changes: the test does.
func zoneOf(t *testing.T, log io.Writer) *names {
	n := newNames(t.Context(), clients{}, Config{Zone: "Z1", ZoneName: "c.muster.", Log: slog.New(slog.NewTextHandler(log, nil)), Limits: Limits{PauseMost: time.Minute}})
	n.close()
	return n
}

// TestNames_want_what_the_zone_has_not holds which changes of a zone follow from what
// nodes have, from what is in the zone, and from what is being changed.
func TestNames_want_what_the_zone_has_not(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for _, row := range []struct {
		name             string
		set              func(*names)
		act              func(*names)
		wanted, unwanted netip.Addr
	}{
		{"new", func(*names) {}, func(n *names) { n.want("n", a) }, a, netip.Addr{}},
		{"of_no_node", func(*names) {}, func(n *names) { n.want("", a) }, netip.Addr{}, netip.Addr{}},
		{"without_address", func(*names) {}, func(n *names) { n.want("n", netip.Addr{}) }, netip.Addr{}, netip.Addr{}},
		{"without_zone", func(n *names) { n.zone = "" }, func(n *names) { n.want("n", a); n.forget("n", a) }, netip.Addr{}, netip.Addr{}},
		{"there", func(n *names) { n.have["n"] = a }, func(n *names) { n.want("n", a) }, netip.Addr{}, netip.Addr{}},
		{"another_is_there", func(n *names) { n.have["n"] = b }, func(n *names) { n.want("n", a) }, a, netip.Addr{}},
		{"wanted_and_there_again", func(n *names) { n.have["n"], n.wanted["n"] = a, b }, func(n *names) { n.want("n", a) }, netip.Addr{}, netip.Addr{}},
		{"on_its_way", func(n *names) { n.underWay["n"] = a }, func(n *names) { n.want("n", a) }, netip.Addr{}, netip.Addr{}},
		{"another_is_on_its_way", func(n *names) { n.have["n"], n.underWay["n"] = a, b }, func(n *names) { n.want("n", a) }, a, netip.Addr{}},
		{"on_its_way_out", func(n *names) { n.underWay["n"], n.removing = a, true }, func(n *names) { n.want("n", a) }, a, netip.Addr{}},
		{"unwanted_before", func(n *names) { n.unwanted["n"] = b }, func(n *names) { n.want("n", a) }, a, netip.Addr{}},
		{"gone", func(*names) {}, func(n *names) { n.forget("n", a) }, netip.Addr{}, a},
		{"gone_with_another_address", func(n *names) { n.have["n"] = b }, func(n *names) { n.forget("n", a) }, netip.Addr{}, b},
		{"gone_without_address", func(*names) {}, func(n *names) { n.forget("n", netip.Addr{}) }, netip.Addr{}, netip.Addr{}},
		{"gone_while_wanted", func(n *names) { n.wanted["n"] = a }, func(n *names) { n.forget("n", netip.Addr{}) }, netip.Addr{}, netip.Addr{}},
		{"no_node_is_gone", func(*names) {}, func(n *names) { n.forget("", a) }, netip.Addr{}, netip.Addr{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := zoneOf(t, io.Discard)
			row.set(n)
			row.act(n)
			if n.wanted["n"] != row.wanted || n.unwanted["n"] != row.unwanted || len(n.wanted)+len(n.unwanted) > 1 {
				t.Errorf("wanted %v, unwanted %v; want %v and %v", n.wanted, n.unwanted, row.wanted, row.unwanted)
			}
			if got := len(n.wake) > 0; got != (row.wanted.IsValid() || row.unwanted.IsValid()) {
				t.Errorf("the worker is woken: %v", got)
			}
		})
	}
}

// TestNames_try_again_later: a change that failed is not wanted again at once, but
// another one is.
func TestNames_try_again_later(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		n, a, b := zoneOf(t, &log), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
		n.underWay["n"] = a
		for range 3 {
			n.made(types.ChangeActionUpsert, []string{"n"}, errors.New("no answer"))
			n.underWay["n"] = a
		}
		clear(n.underWay)
		if got := n.wait(t.Context(), []string{"n", "m"}); len(got) != 1 || got["n"] == nil {
			t.Errorf("failed: %v", got)
		}
		for _, step := range []struct {
			wait    time.Duration
			address netip.Addr
			want    int
		}{{0, a, 0}, {n.rest - 1, a, 0}, {1, a, 1}, {0, b, 1}} {
			<-time.After(step.wait)
			if n.want("n", step.address); len(n.wanted) != step.want {
				t.Errorf("%s after %s: wanted %v", step.address, step.wait, n.wanted)
			}
		}
		n.underWay["n"] = a
		if n.made(types.ChangeActionUpsert, []string{"n"}, nil); n.have["n"] != a || len(n.underWay) > 0 {
			t.Errorf("the zone has %v, under way are %v", n.have, n.underWay)
		}
		n.underWay["n"] = a
		if n.made(types.ChangeActionDelete, []string{"n"}, nil); len(n.have) > 0 {
			t.Errorf("the zone has %v", n.have)
		}
		if got := strings.Count(log.String(), `cannot be written" zone=Z1 nodes=1 error="no answer"`); got != 1 {
			t.Errorf("the log says it %d times: %s", got, &log)
		}
	})
}

func TestNames_wait_ends_with_its_caller(t *testing.T) {
	n := zoneOf(t, io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, of := range []map[string]netip.Addr{n.wanted, n.underWay} {
		of["n"] = netip.MustParseAddr("10.0.0.1")
		if got := fmt.Sprint(n.wait(ctx, []string{"n"})); got != "map[]" {
			t.Errorf("got %s", got)
		}
		clear(of)
	}
}
