package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/controller/client"
)

func TestHeadIn(t *testing.T) {
	for conf, want := range map[string]string{
		"ClusterName=t\nSlurmctldHost=t-head(10.99.0.1)\nSlurmctldPort=1\n": "t-head",
		"  SlurmctldHost=ip-10-0-0-1":                                       "ip-10-0-0-1",
		"#SlurmctldHost=x\n":                                                "",
		"":                                                                  "",
	} {
		if got := headIn(conf); got != want {
			t.Errorf("of %q it says %q", conf, got)
		}
	}
}

// TestExportsLine asks the same on the head node; a directory is one word, whatever its name.
func TestExportsLine(t *testing.T) {
	a := &app{output: "json", quiet: true}
	if got, want := a.exportsLine("/fsx/it's; x", true), `/opt/muster/bin/muster data export --output json --wait --quiet -- '/fsx/it'\''s; x'`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := (&app{output: "text"}).exportsLine("", false), "/opt/muster/bin/muster data export --output text"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestElsewhereAsked says where the controller is, on a machine that has no folder of it or one without its socket.
func TestElsewhereAsked(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		_, err := exportsOf(t.Context(), client.In(dir), "")
		got := elsewhereAsked(err).Error()
		if strings.Contains(got, dir) || hintIn(got) != "run `muster data export` on the head node, or outside of the cluster" {
			t.Errorf("got %q, of %v", got, err)
		}
	}
	if other := errors.New("no answer"); elsewhereAsked(other) != other {
		t.Error("another error is changed")
	}
}
