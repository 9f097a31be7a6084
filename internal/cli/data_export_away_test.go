package cli

import "testing"

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
