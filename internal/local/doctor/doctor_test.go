package doctor

import (
	"errors"
	"testing"
)

func TestConsent(t *testing.T) {
	no := errors.New("left as it is")
	asked := ""
	cases := map[string]struct {
		options Options
		want    bool
	}{
		"yes":     {Options{Yes: true}, true},
		"nobody":  {Options{}, false},
		"agrees":  {Options{Confirm: func(q string) error { asked = q; return nil }}, true},
		"refuses": {Options{Confirm: func(string) error { return no }}, false},
	}
	for name, c := range cases {
		if err := consent(c.options, Plan{Packages: []string{"munge"}}); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if want := "Install from Debian, starting no service: munge?"; asked != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
}
