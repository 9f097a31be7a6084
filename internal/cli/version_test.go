package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	platform := ", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	for _, row := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"no_information", nil, "muster unknown" + platform},
		{"from_a_folder", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "muster devel" + platform},
		{"released", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "muster v1.2.3" + platform},
		{"from_git", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "true"},
		}}, "muster devel, commit 0123456789ab with changes" + platform},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := versionOf(row.info).String(); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
