package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// asked are options of sbatch and what `check --cluster` says of them: "fits", "error",
// or "unknown" where it leaves the answer to Slurm; or "error since" a version of Slurm's, and "fits" before.
var asked = map[string]string{
	"--constraint=gpu": "fits", "--constraint=gpu&dynamic": "fits", "--constraint=nosuch": "error", "--constraint=gpu|nosuch": "error",
	"--constraint=gpu,dynamic": "fits", "--constraint=(gpu|p5e)&dynamic": "fits", "--constraint=(gpu": "error", "--constraint=gpu)": "error",
	"--constraint=gpu&&p5e": "error", "--constraint=|gpu": "error", "--constraint=gpu|": "fits", "--constraint=[]": "error", "--constraint=()": "error",
	"--constraint=gpu*0": "error", "--constraint=gpu*x": "error", "--constraint=gpu*2": "fits", "--constraint=[gpu|p5e]": "fits", "--constraint=GPU": "error",
	"--constraint=[gpu*1&nosuch*1]": "error", "--prefer=gpu": "fits", "--prefer=nosuch": "error",
	"--nodelist=gpu-dy-p5e-1": "fits", "--nodelist=gpu-dy-p5e-[1-9]": "error", "--nodelist=nosuch": "error",
	"--exclude=gpu-dy-p5e-1": "fits", "--exclude=nosuch": "error", "--exclude=gpu-dy-p5e-[1-": "error",
	"--gres=gpu:h200:1": "fits", "--gres=nosuch:1": "error", "--gres=none": "fits",
	"--reservation=nosuch": "error", "--licenses=nosuch": "error", "--licenses=nosuch:2": "error",
	"--account=nosuch": "fits", "--qos=nosuch": "fits", "--switches=1": "fits", "--wckey=x": "fits", "--clusters=nosuch": "error", "--clusters=all": "fits",
	"--dependency=singleton": "fits", "--dependency=after:1+5": "fits", "--dependency=AFTERANY:1": "fits",
	"--dependency=nosuch:1": "error", "--dependency=afterok": "error", "--dependency=afterok:abc": "error", "--dependency=afterany:1?afterany:2": "fits", "--dependency=afterany:999999": "fits",
	"--dependency=afterok:999999": "error since 23.02",
}

// checkIsTrue holds what check says of options to what this machine's sbatch says.
func checkIsTrue(t *testing.T, c *cluster) {
	options := slices.Sorted(maps.Keys(asked))
	args, script := []string{"check", "-o", "json"}, ""
	for i, o := range options {
		name := fmt.Sprintf("asks-%d.sbatch", i)
		c.file(name, "#!/bin/bash\n#SBATCH --time=1 --output=/dev/null "+o+"\ntrue\n")
		args = append(args, name)
		script += "sbatch --test-only --quiet " + name + " >/dev/null 2>&1; echo $?\n"
	}
	took := strings.Fields(c.head("sh", "-c", script))
	_, version, _ := strings.Cut(c.head("scontrol", "--version"), " ")
	var said struct {
		Files []struct {
			Problems []struct{ Severity, Code, Message string }
		}
	}
	if err := json.Unmarshal([]byte(c.run(args...).stdout), &said); err != nil || len(said.Files) != len(options) || len(took) != len(options) {
		t.Fatalf("%v, %d answers and %d of sbatch, want %d", err, len(said.Files), len(took), len(options))
	}
	for i, o := range options {
		got := "fits"
		for _, p := range said.Files[i].Problems {
			switch {
			case p.Severity == "error":
				got = "error"
			case p.Code == "script/unasked":
				got = "unknown"
			}
		}
		want := asked[o]
		if word, since, ok := strings.Cut(want, " since "); ok {
			want = "fits"
			if version >= since {
				want = word
			}
		}
		if got != want {
			t.Errorf("%s: %s %+v, want %s", o, got, said.Files[i].Problems, want)
		}
		if got == "error" && took[i] == "0" || got == "fits" && took[i] != "0" {
			t.Errorf("%s: check says %s, and sbatch ends with %s", o, got, took[i])
		}
	}
}
