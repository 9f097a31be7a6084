package source

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// TestPause: a registry that asks to be left alone is, as long as that is of use.
func TestPause(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	broken := errors.New("broken")
	for name, row := range map[string]struct {
		status int
		said   string
		tries  int
		want   time.Duration
		gives  bool // up
	}{
		"other_error":      {500, "", 3, 2 * time.Second, false},
		"limit":            {429, "", 1, 4 * time.Second, false},
		"limit_goes_on":    {429, "", 5, 64 * time.Second, false},
		"for_a_minute":     {429, "60", 1, time.Minute, false},
		"less_than_ours":   {429, "1", 4, 4 * time.Second, false},
		"until":            {429, now.Add(90 * time.Second).Format(http.TimeFormat), 1, 90 * time.Second, false},
		"has_been":         {429, now.Add(-time.Hour).Format(http.TimeFormat), 1, 4 * time.Second, false},
		"garbled":          {429, "soon", 1, 4 * time.Second, false},
		"overloaded":       {503, "30", 1, 30 * time.Second, false},
		"only_overloaded":  {503, "", 1, 500 * time.Millisecond, false},
		"for_a_day":        {429, "86400", 1, 0, true},
		"for_all_eternity": {429, "99999999999", 1, 0, true},
	} {
		resp := &http.Response{StatusCode: row.status, Header: http.Header{}}
		if row.said != "" {
			resp.Header.Set("Retry-After", row.said)
		}
		got, err := Options{}.pause(row.tries, asBusy(resp, now, broken))
		if got != row.want || (err != nil) != row.gives || err != nil && (!final(err) || !errors.Is(err, broken)) {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, row.want)
		}
	}
}

// TestCost: silence is waited for half as often as what fails at once.
func TestCost(t *testing.T) {
	if cost(silence(time.Second)) != 2 || cost(errors.New("broken")) != 1 {
		t.Error("a silent registry costs as little as one that answers")
	}
}
