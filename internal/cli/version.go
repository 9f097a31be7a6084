package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which muster this is",
		Example: "  muster version\n  muster version -o json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.showVersion() },
	}
}

func (a *app) showVersion() error {
	info, _ := debug.ReadBuildInfo()
	answer := versionOf(info)
	return a.answer(answer, func() error {
		_, err := fmt.Fprintln(a.out, answer)
		return err
	})
}

// versionFlag makes --version what `muster version` is.
func (a *app) versionFlag(root *cobra.Command) {
	asked := root.Flags().BoolP("version", "v", false, "say which muster this is")
	other := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if *asked && len(args) == 0 {
			return a.showVersion()
		}
		return other(c, args)
	}
}

// versionAnswer is what `muster version -o json` prints.
type versionAnswer struct {
	Version string `json:"version"`
	// Commit and its Time are of the sources, Modified says that they were
	// changed since; all are absent where the build did not know.
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// versionOf reads what the Go toolchain noted in the program.
func versionOf(info *debug.BuildInfo) versionAnswer {
	v := versionAnswer{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v.Version = strings.Trim(info.Main.Version, "()")
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String is the version in one line.
func (v versionAnswer) String() string {
	text := "muster " + v.Version
	if v.Commit != "" {
		text += ", commit " + v.Commit[:min(12, len(v.Commit))]
		if v.Modified {
			text += " with changes"
		}
	}
	return text + ", " + v.Go + " " + v.Platform
}
