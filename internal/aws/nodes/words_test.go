package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/nodes/journal"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// says is an answer of AWS with a status and a code.
func says(status int, code string) error {
	return &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: &smithy.GenericAPIError{Code: code, Message: "it says " + code},
	}
}

// TestAnswers holds what becomes of each kind of answer: whether the call is made again,
// whose fault it is, and whether EC2 has started nothing for sure.
func TestAnswers(t *testing.T) {
	for _, row := range []struct {
		name     string
		err      error
		again    aws.Ternary
		cause    provider.Cause
		definite bool
	}{
		{"no_answer", errors.New("EOF"), aws.UnknownTernary, provider.Unknown, false},
		{"given_up", fmt.Errorf("launch: %w", context.Canceled), aws.FalseTernary, provider.Unknown, false},
		{"no_capacity", says(500, "InsufficientInstanceCapacity"), aws.FalseTernary, provider.Capacity, true},
		{"a_block_that_waits", says(400, reservationState+".PendingActivation"), aws.FalseTernary, provider.Capacity, true},
		{"another_state_of_a_reservation", says(400, reservationState+".Expired"), aws.FalseTernary, provider.Capacity, true},
		{"no_right", says(403, "AuthFailure.Whatever"), aws.FalseTernary, provider.Permission, true},
		{"too_often", says(503, "RequestLimitExceeded"), aws.TrueTernary, provider.Throttled, true},
		{"trouble_of_AWS", says(500, "InternalError"), aws.TrueTernary, provider.Unknown, false},
		{"unknown_trouble_of_AWS", says(500, "Whatever"), aws.TrueTernary, provider.Unknown, false},
		{"unknown_fault_of_ours", says(499, "Whatever"), aws.FalseTernary, provider.Configuration, true},
		{"another_request", says(400, mismatch), aws.FalseTernary, provider.Unknown, false},
		{"launched_and_ended", says(400, tokenOver), aws.FalseTernary, provider.Unknown, true},
	} {
		if got := again(row.err); got != row.again {
			t.Errorf("%s: again is %v, want %v", row.name, got, row.again)
		}
		refused, definite := refusal(row.err)
		if refused.Cause != row.cause || definite != row.definite {
			t.Errorf("%s: %s, definite %v; want %s, %v", row.name, refused.Cause, definite, row.cause, row.definite)
		}
		if got := throttled(row.err); got != (row.cause == provider.Throttled) {
			t.Errorf("%s: throttled is %v", row.name, got)
		}
	}
}

func TestWorst_is_what_says_most(t *testing.T) {
	fleet := func(codes ...string) (all []types.CreateFleetError) {
		for _, c := range codes {
			all = append(all, types.CreateFleetError{ErrorCode: aws.String(c), ErrorMessage: aws.String("it says " + c)})
		}
		return all
	}
	for _, row := range [][]string{
		{""},
		{"InsufficientInstanceCapacity", "InsufficientInstanceCapacity"},
		{"VcpuLimitExceeded", "InsufficientInstanceCapacity", "VcpuLimitExceeded", "UnauthorizedOperation"},
		{"UnauthorizedOperation", "UnauthorizedOperation", "AccessDenied", "RequestLimitExceeded", "InternalError"},
		{"Whatever", "InternalError", "RequestLimitExceeded", "Whatever"},
	} {
		got := worst(fleet(row[1:]...))
		if got == nil && row[0] == "" {
			continue
		}
		if got == nil || got.Code != row[0] || got.Message != "it says "+row[0] {
			t.Errorf("of %q got %v, want %s", row[1:], got, row[0])
		}
	}
}

func TestHealthEventsOf(t *testing.T) {
	at := func(hour int) *time.Time { return aws.Time(time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC)) }
	bad := func(since ...*time.Time) *types.InstanceStatusSummary {
		s := &types.InstanceStatusSummary{Status: types.SummaryStatusImpaired}
		for _, when := range since {
			s.Details = append(s.Details, types.InstanceStatusDetails{ImpairedSince: when})
		}
		return s
	}
	ok := &types.InstanceStatusSummary{Status: types.SummaryStatusOk}
	for _, row := range []struct {
		name string
		from types.InstanceStatus
		want []provider.HealthEvent
	}{
		{"nothing", types.InstanceStatus{}, nil},
		{"well", types.InstanceStatus{SystemStatus: ok, InstanceStatus: ok, AttachedEbsStatus: &types.EbsStatusSummary{Status: types.SummaryStatusOk}}, nil},
		{"since_the_first", types.InstanceStatus{SystemStatus: bad(at(3), nil, at(2), at(4))}, []provider.HealthEvent{{Code: impaired, Text: "the system status check fails", Since: *at(2)}}},
		{"both", types.InstanceStatus{SystemStatus: bad(), InstanceStatus: bad(at(1))}, []provider.HealthEvent{
			{Code: impaired, Text: "the system status check fails"}, {Code: impaired, Text: "the instance status check fails", Since: *at(1)}}},
		{"volumes", types.InstanceStatus{AttachedEbsStatus: &types.EbsStatusSummary{Status: types.SummaryStatusImpaired, Details: []types.EbsStatusDetails{{ImpairedSince: at(5)}}}},
			[]provider.HealthEvent{{Code: impaired, Text: "the status check of its volumes fails", Since: *at(5)}}},
	} {
		if diff := cmp.Diff(row.want, healthEventsOf(row.from)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

// TestTookHealth believes what was known while there is no answer, and says so once.
func TestTookHealth(t *testing.T) {
	var log strings.Builder
	f := &Fleet{Config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	known := map[string][]provider.HealthEvent{"i-1": {{Code: impaired}}}
	for _, step := range []struct {
		of    map[string][]provider.HealthEvent
		err   error
		known int
		logs  int
	}{{known, nil, 1, 0}, {nil, errors.New("one"), 1, 1}, {nil, errors.New("one"), 1, 1}, {nil, errors.New("two"), 1, 2}, {nil, nil, 0, 2}, {nil, errors.New("two"), 0, 3}} {
		f.tookHealth(step.of, step.err)
		if got := strings.Count(log.String(), "cannot be seen"); len(f.health.of) != step.known || got != step.logs {
			t.Errorf("after %v: %d known, %d lines", step.err, len(f.health.of), got)
		}
	}
}

func TestOwns(t *testing.T) {
	r := &Resource{Resource: slurm.Resource{Queue: "q", Name: "r"}, Static: 2, Dynamic: 3}
	for node, want := range map[string]bool{
		"q-st-r-0": false, "q-st-r-1": true, "q-st-r-2": true, "q-st-r-3": false, "q-dy-r-1": true, "q-dy-r-3": true, "q-dy-r-4": false, "q-dy-s-1": false, "head": false,
	} {
		if got := r.owns(node); got != want {
			t.Errorf("%s: %v", node, got)
		}
	}
	if (*Resource)(nil).owns("q-st-r-1") {
		t.Error("no resource has a node")
	}
}

// TestPause grows with each attempt up to the longest, and is never less than half.
func TestPause(t *testing.T) {
	l := Limits{Pause: time.Second, PauseMost: 20 * time.Second}
	for attempt, most := range map[int]time.Duration{1: 1 * time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 6: 20 * time.Second, 19: 20 * time.Second, 20: 20 * time.Second, 100: 20 * time.Second} {
		for range 50 {
			if got := l.pause(attempt); got < most/2 || got > most {
				t.Errorf("pause %d is %s, want %s to %s", attempt, got, most/2, most)
			}
		}
	}
	endless := Limits{Pause: time.Second, PauseMost: 1 << 62}
	if early, late := endless.pause(19), endless.pause(20); early > 1<<18*time.Second || late < 1<<61 {
		t.Errorf("pauses 19 and 20 are %s and %s", early, late)
	}
	if got := (Limits{Pause: 1, PauseMost: 1}).pause(1); got > 1 {
		t.Errorf("the shortest pause is %s", got)
	}
	var o ec2.Options
	(&clients{limits: l, gate: &gate{}}).paced(10)(&o)
	if got, err := o.Retryer.RetryDelay(9, errors.New("EOF")); err != nil || got < 3*time.Second || got > 6*time.Second {
		t.Errorf("for ten instances the longest pause is %s, %v", got, err)
	}
}

func TestGate_is_shut_for_the_longest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := &gate{}, time.Now()
		g.shut(10 * time.Second)
		g.shut(time.Second)
		if err := g.wait(t.Context()); err != nil || time.Since(began) != 10*time.Second {
			t.Errorf("waited for %s, %v", time.Since(began), err)
		}
	})
}

func TestCut(t *testing.T) {
	for _, row := range []struct {
		text string
		want []string
	}{{"", []string{""}}, {"abc", []string{"abc"}}, {"abcd", []string{"abc", "d"}}, {"abcdef", []string{"abc", "def"}}, {"abcdefg", []string{"abc", "def", "g"}}} {
		if got := cut(row.text, 3); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.text, got, row.want)
		}
	}
}

// TestNewRequest_has_room_for_so_many_names, and no more: the tags of an instance are few.
func TestNewRequest_has_room_for_so_many_names(t *testing.T) {
	var all []string
	r := &Resource{Resource: slurm.Resource{Queue: "q", Name: "r"}, Types: []string{"c5.large"}}
	tags := 0
	for n := 1; tags <= nodeTags; n += 2 { // nodes without neighbours
		all = append(all, fmt.Sprintf("q-dy-r-%d", n))
		tags = (len(slurm.Compress(all)) + tagBytes - 1) / tagBytes
		if n%100 != 1 && tags < nodeTags {
			continue
		}
		got, err := newRequest("c", "token", batch{resource: r, nodes: all})
		if (err != nil) != (tags > nodeTags) {
			t.Fatalf("%d tags of names: %v", tags, err)
		}
		if err == nil && got.Tags[nodesTag(tags-1)] == "" || err == nil && got.Tags[nodesTag(tags)] != "" {
			t.Fatalf("want %d tags of names: %v", tags, slices.Sorted(maps.Keys(got.Tags)))
		}
	}
}

func TestAddFileTags_up_to_what_EC2_takes(t *testing.T) {
	tags := map[string]string{}
	for i := range tagsAtAll - 1 {
		tags[fmt.Sprint("t", i)] = "v"
	}
	addFileTags(tags, []spec.Tag{{Key: "last", Value: "1"}, {Key: "over", Value: "1"}, {Key: "last", Value: "2"}, {Key: "muster:x", Value: "1"}})
	if len(tags) != tagsAtAll || tags["last"] != "2" || tags["over"] != "" {
		t.Errorf("%d tags: %v", len(tags), tags)
	}
}

func TestPart_and_group(t *testing.T) {
	f := &Fleet{Config: Config{Limits: Limits{Calls: 5, Batch: 1000}}}
	for nodes, want := range map[int]int{1: 50, 250: 50, 251: 51, 255: 51, 5000: 1000, 9000: 1000} {
		if got := f.part(nodes); got != want {
			t.Errorf("%d nodes go %d by %d, want %d", nodes, got, got, want)
		}
	}
	for _, row := range []struct {
		name  string
		lists string
		most  int
		want  string
	}{
		{"all_in_one", "ab c de", 5, "ab+c+de"}, {"up_to_most", "ab c de", 4, "ab+c de"}, {"no_node_twice", "ab bc d", 9, "ab+d bc"}, {"none", "", 9, ""},
	} {
		var lists [][]string
		for _, l := range strings.Fields(row.lists) {
			lists = append(lists, strings.Split(l, ""))
		}
		var got []string
		for _, g := range group(lists, row.most) {
			var words []string
			for _, l := range g {
				words = append(words, strings.Join(l, ""))
			}
			got = append(got, strings.Join(words, "+"))
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: got %q, want %s", row.name, got, row.want)
		}
	}
}

// TestLeft launches no list of which a node cannot be, and none that is there.
func TestLeft(t *testing.T) {
	broken := errors.New("no place")
	for _, row := range []struct {
		name, mine, failed, want, lost string
	}{
		{"all", "a b", "", "[[a b]]", ""}, {"a_part", "b", "", "[[b]]", ""}, {"none", "", "", "[]", ""},
		{"the_first_cannot_be", "b", "a", "[]", "a b"}, {"the_last_cannot_be", "a", "b", "[]", "a b"},
	} {
		l := &launching{failed: map[string]error{}}
		if row.failed != "" {
			l.failed[row.failed] = broken
		}
		got := fmt.Sprint(l.left([][]string{{"a", "b"}}, strings.Fields(row.mine)))
		if lost := strings.Join(sortedKeys(l.failed), " "); got != row.want || lost != row.lost {
			t.Errorf("%s: left %s, lost %s; want %s and %s", row.name, got, lost, row.want, row.lost)
		}
	}
}

func TestUnknownIDs(t *testing.T) {
	of := []string{"i-0123456789abcdef0", "i-0123456789abcdef1"}
	missing := &smithy.GenericAPIError{Code: "InvalidInstanceID.NotFound", Message: "The instance IDs 'i-0123456789abcdef1, i-0123456789abcdef2' do not exist"}
	for _, row := range []struct {
		err  error
		want []string
	}{{missing, of[1:]}, {&smithy.GenericAPIError{Code: missing.Code, Message: strings.Join(of, " ")}, of}, {errors.New("i-0123456789abcdef1"), nil}, {&smithy.GenericAPIError{Code: "Whatever", Message: missing.Message}, nil}} {
		if got := unknownIDs(row.err, of); !slices.Equal(got, row.want) {
			t.Errorf("%v: got %q, want %q", row.err, got, row.want)
		}
	}
}

// TestYoung_and_expired hold for how long EC2 may not show what it has started, and for
// how long a launch is remembered.
func TestYoung_and_expired(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	f := &Fleet{Config: Config{Now: func() time.Time { return now }, Limits: Limits{}.usual()}, machines: map[string]*machine{}, open: map[string]*intent{}, answers: map[string]answer{}}
	lag, settled := f.Limits.Lag, f.Limits.Settled
	for _, row := range []struct {
		m    *machine
		want bool
	}{{nil, false}, {&machine{learned: now.Add(1 - lag)}, true}, {&machine{learned: now.Add(-lag)}, false}, {&machine{learned: now, shown: true}, false}} {
		if f.machines["i"] = row.m; f.young("i") != row.want {
			t.Errorf("%+v: young is %v", row.m, !row.want)
		}
	}
	busy := newIntent(journalLine(now.Add(-settled - 1)))
	busy.busy <- struct{}{}
	f.open = map[string]*intent{"lost": newIntent(journalLine(now.Add(-settled))), "old": newIntent(journalLine(now.Add(-settled - 1))), "busy": busy}
	f.machines = map[string]*machine{"i-1": {launch: "shown", shown: true}, "i-2": {launch: "awaited"}, "i-3": {launch: "fleet", shown: true}}
	f.answers = map[string]answer{"shown": {at: now.Add(-1)}, "awaited": {at: now.Add(-1)}, "fleet": {at: now.Add(-1), fleet: true}, "over": {at: now.Add(-1)}, "since": {at: now}}
	got := f.expired(now)
	if slices.Sort(got); !slices.Equal(got, []string{"old", "over", "shown"}) {
		t.Errorf("%q are forgotten", got)
	}
}

func journalLine(at time.Time) journal.Launch { return journal.Launch{At: at} }
