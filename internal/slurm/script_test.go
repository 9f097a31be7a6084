package slurm

import "testing"

func TestParseScript(t *testing.T) {
	const line = "--------------------------------------------------------------------------------\n"
	cases := map[string]struct{ output, want string }{
		"nothing":   {"", ""},
		"none":      {"Batch Script for 2\n" + line + "NONE\n", ""},
		"one":       {"Batch Script for 2\n" + line + "#!/bin/sh\ntrue\n", "#!/bin/sh\ntrue\n"},
		"requeued":  {"Batch Script for 2\n" + line + "#!/bin/sh\n1\nBatch Script for 2\n" + line + "#!/bin/sh\n2\n", "#!/bin/sh\n1\n"},
		"cut_short": {"Batch Script for 2\n", ""},
		"no_script": {"Batch Script for 2\nother\n#!/bin/sh\n", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := string(parseScript([]byte(c.output))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
