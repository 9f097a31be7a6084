package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

const script = `#!/bin/bash
#SBATCH --nodes=2
#MUSTER --checkpoints=/fsx/a --checkpoints "/fsx/b c" # both
#MUSTER --restarts=3 --on-failure=requeue --hang=10m --on-hang=tell
# a comment

	# another
#MUSTER
#MUSTER --start-up=90s --model llama --no-drain
#MUSTER --log-pattern='it (?P<step>\d+) loss=(?P<loss>\S+)'
#MUSTERS --restarts=4
##MUSTER --restarts=5
srun train
#MUSTER --restarts=6
`

func TestRead(t *testing.T) {
	got := policy.Read("a.sbatch", []byte(script))
	want := policy.Policy{
		Checkpoints: []string{"/fsx/a", "/fsx/b c"}, Restarts: 3, OnFailure: policy.FailureRequeue, Hang: policy.Hang{Limit: 10 * time.Minute},
		OnHang: policy.HangTell, StartUp: policy.Span(90 * time.Second), Model: "llama", NoDrain: true, LogPattern: `it (?P<step>\d+) loss=(?P<loss>\S+)`,
	}
	if got.Problems.Len() > 0 || !got.Asked {
		t.Errorf("asked: %t, problems:\n%v", got.Asked, got.Problems.All())
	}
	if diff := cmp.Diff(want, got.Policy); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRead_nothing(t *testing.T) {
	for _, row := range []struct {
		name, script string
		asked        bool
	}{
		{"empty", "", false},
		{"no_line", "#!/bin/bash\n#SBATCH -N 2\nsrun x\n", false},
		{"below_the_first_command", "#!/bin/bash\nsrun x\n#MUSTER --restarts=1\n", false},
		{"no_option", "#!/bin/bash\n#MUSTER\nsrun x\n", true},
		{"windows", "#!/bin/bash\r\n#MUSTER\r\nsrun x\r\n", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := policy.Read("s", []byte(row.script))
			if got.Asked != row.asked || got.Problems.Len() > 0 || !got.Policy.Equal(policy.Default()) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestRead_problems: each has its place and says what to do, and the options beside it count.
func TestRead_problems(t *testing.T) {
	for _, row := range []struct {
		name, options, message, hint string
		column                       int
	}{
		{"unknown", "--restart=3", "--restart is no option of a job's policy", "did you mean --restarts?", 33},
		{"strange", "--zzzzzzzzz", "--zzzzzzzzz is no option of a job's policy", "there are --checkpoints, --restarts, --on-failure, --hang, --on-hang, --start-up, --log-pattern, --model, --no-drain", 33},
		{"no_option", "restarts=3", `"restarts=3" is no option`, "options are written as --checkpoints=DIR", 33},
		{"no_value", "--restarts", "--restarts has no value", "--restarts=N", 33},
		{"empty_value", "--checkpoints=", "--checkpoints has no value", "--checkpoints=DIR", 33},
		{"a_value", "--no-drain=no", "--no-drain takes no value", "--no-drain", 33},
		{"no_number", "--restarts=many", `--restarts is "many", which is no number of restarts`, "a number from 0 to 10000", 33},
		{"too_many", "--restarts=10001", `--restarts is "10001", which is no number of restarts`, "a number from 0 to 10000", 33},
		{"choice", "--on-failure=requeu", `--on-failure is "requeu", which is none of auto, requeue, stop`, "did you mean requeue?", 33},
		{"far_choice", "--on-hang=restart-it", `--on-hang is "restart-it", which is none of requeue, stop, tell`, "", 33},
		{"no_least", "--hang=auto:", `--hang is "auto:", which is neither auto nor off nor a length of time`, "write 90s, 10m, 2h or 1h30m", 33},
		{"no_unit", "--hang=10", `--hang is "10", which is neither auto nor off nor a length of time`, "write 90s, 10m, 2h or 1h30m", 33},
		{"negative", "--start-up=-5m", `--start-up is "-5m", which is no length of time`, "write 90s, 10m, 2h or 1h30m", 33},
		{"variable", "--checkpoints=$HOME/c", `--checkpoints is "$HOME/c", which stays as it is: no shell reads it`, "write the whole path", 33},
		{"home", "--checkpoints=~/c", `--checkpoints is "~/c", which stays as it is: no shell reads it`, "write the whole path", 33},
		{"pattern", "--log-pattern='(?P<step>'", `--log-pattern is "(?P<step>", which is no regular expression: missing closing ): ` + "`(?P<step>`", "they are written as in https://github.com/google/re2/wiki/Syntax", 33},
		{"no_group", `--log-pattern='step (\d+)'`, `--log-pattern is "step (\\d+)", which has no named group`, `write (?P<step>\d+) where the step stands; there are ` + strings.Join(trainlog.GroupNames(), ", "), 33},
		{"group", `--log-pattern='(?P<Step>\d+)'`, `--log-pattern is "(?P<Step>\\d+)", which has a group Step, which stands for nothing`, "did you mean step?", 33},
		{"unquoted", `--log-pattern=(?P<step>\d+)`, "this line cannot be read: a shell takes this ( for more than a character", "put the value in single quotes, as in --log-pattern='...'", 47},
		{"unquoted_alone", `--log-pattern (?P<step>\d+)`, "this line cannot be read: a shell takes this ( for more than a character", "put the value in single quotes, as in --log-pattern='...'", 47},
		{"open_quote", `--model='x`, "this line cannot be read: nothing ends what this ' begins", "put the value in single quotes, as in --log-pattern='...'", 41},
		{"model", `--model=a/b`, `--model is "a/b", which is no model's name`, "", 33},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := policy.Read("a.sbatch", []byte("#!/bin/sh\n#MUSTER --restarts=7 --no-drain "+row.options+"\nsrun x\n"))
			all := got.Problems.All()
			if len(all) != 1 {
				t.Fatalf("got %d problems: %v", len(all), all)
			}
			d := all[0]
			if d.Message != row.message || d.Hint != row.hint || d.Code != "script/muster-option" || d.Severity != diag.Error {
				t.Errorf("got  %s\nwant %s\nhint %s\nwant %s", d.Message, row.message, d.Hint, row.hint)
			}
			if d.File != "a.sbatch" || d.Line != 2 || d.Column != row.column {
				t.Errorf("got place %s:%d:%d, want column %d", d.File, d.Line, d.Column, row.column)
			}
			if !got.Policy.Equal(policy.Policy{Restarts: 7, OnFailure: "auto", OnHang: "requeue", NoDrain: true}) {
				t.Errorf("got %+v", got.Policy)
			}
		})
	}
}

// TestWith: the command line wins; its directories are all that count.
func TestWith(t *testing.T) {
	base := policy.Read("s", []byte(script)).Policy
	got, list := base.With([]string{"--restarts=0", "--checkpoints=/x", "--hang", "off", "--checkpoints=/y"})
	if list.Len() > 0 {
		t.Fatal(list.All())
	}
	base.Restarts, base.Hang, base.Checkpoints = 0, policy.Hang{Off: true}, []string{"/x", "/y"}
	if diff := cmp.Diff(base, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPolicy_JSON(t *testing.T) {
	for _, row := range []struct {
		name string
		p    policy.Policy
		want string
	}{
		{"default", policy.Default(), `{"restarts":10,"on_failure":"auto","hang":"auto","on_hang":"requeue"}`},
		{"hangs_by_its_rhythm", policy.Policy{OnFailure: "auto", OnHang: "tell", Hang: policy.Hang{Least: 2 * time.Minute}}, `{"restarts":0,"on_failure":"auto","hang":"auto:2m0s","on_hang":"tell"}`},
		{"all", policy.Read("s", []byte(script)).Policy, `{"checkpoints":["/fsx/a","/fsx/b c"],"restarts":3,"on_failure":"requeue","hang":"10m0s","on_hang":"tell","start_up":"1m30s","log_pattern":"it (?P\u003cstep\u003e\\d+) loss=(?P\u003closs\u003e\\S+)","model":"llama","no_drain":true}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, err := json.Marshal(row.p)
			if err != nil || string(text) != row.want {
				t.Fatalf("got  %s\nwant %s, %v", text, row.want, err)
			}
			var back policy.Policy
			if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(back, row.p) {
				t.Errorf("got %+v, %v", back, err)
			}
		})
	}
	var p policy.Policy
	if err := json.Unmarshal([]byte(`{"new":1}`), &p); err != nil || !p.Equal(policy.Default()) {
		t.Errorf("what is not there: got %+v, %v", p, err)
	}
	for _, bad := range []string{`{"restarts":-1}`, `{"hang":"x"}`, `{"on_hang":"x"}`, `{"log_pattern":"("}`, `{"checkpoints":["$x"]}`, `{"start_up":"0"}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), &p); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// TestFlags: a command's flags are the script's options.
func TestFlags(t *testing.T) {
	var f policy.Flags
	flags := map[string]*policy.Flag{}
	lone := map[string]string{}
	for _, o := range policy.Options() {
		flags[o.Name], lone[o.Name] = f.Flag(o), o.Lone()
	}
	for _, given := range [][2]string{{"checkpoints", "/a"}, {"restarts", "2"}, {"no-drain", lone["no-drain"]}} {
		if err := flags[given[0]].Set(given[1]); err != nil {
			t.Errorf("--%s %s: %v", given[0], given[1], err)
		}
	}
	if want := []string{"--checkpoints=/a", "--restarts=2", "--no-drain"}; !slices.Equal(f.Words(), want) {
		t.Errorf("got %q, want %q", f.Words(), want)
	}
	for name, value := range map[string]string{"restarts": "x", "no-drain": "false", "log-pattern": "("} {
		if err := flags[name].Set(value); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("--%s=%s: %v", name, value, err)
		}
	}
	if len(f.Words()) != 3 {
		t.Errorf("what is wrong was kept: %q", f.Words())
	}
}

// FuzzRead: whatever a script holds, problems have words and a place, and what was read can be
// written and read again, as options and as JSON.
func FuzzRead(f *testing.F) {
	f.Add([]byte(script))
	f.Add([]byte("#!/bin/sh\r\n#MUSTER --hang \"off\" --log-pattern='(?P<step>.)' \\\r\n#MUSTER\t--model x#y\n"))
	f.Add([]byte("#MUSTER --checkpoints='a b' --checkpoints --restarts= x ü --no-drain=1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := policy.Read("s", text)
		for _, d := range got.Problems.All() {
			if d.Message == "" || d.Line < 1 || d.Column < 1 || d.Source == "" {
				t.Errorf("a problem without words or place: %+v", d)
			}
		}
		again, list := policy.Default().With(got.Policy.Words())
		if list.Len() > 0 || !cmp.Equal(got.Policy, again) {
			t.Errorf("got %+v of the words of %+v; %v", again, got.Policy, list.All())
		}
		data, err := json.Marshal(got.Policy)
		if err != nil {
			t.Fatal(err)
		}
		var back policy.Policy
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if twice, _ := json.Marshal(back); string(twice) != string(data) {
			t.Errorf("%s comes back as %s", data, twice)
		}
	})
}
