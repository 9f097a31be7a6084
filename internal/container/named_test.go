package container

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	for text, want := range map[string]Name{
		"a": {Name: "a", Flag: NameAuto}, "a:": {Name: "a", Flag: NameAuto}, "a:create": {Name: "a", Flag: NameCreate}, "b.c:no_exec": {Name: "b.c", Flag: NameNoExec},
	} {
		if got, err := ParseName(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "argument required", ":exec": "empty name", "a:run": `flag must be "auto", "create", "exec" or "no_exec"`, "../x": "no slash", ".x": "no slash", "a\nb": "no control characters", "a\x1b[31m:exec": "no control characters",
	} {
		if _, err := ParseName(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestDecideName(t *testing.T) {
	const failed = nameAction(-1)
	for _, row := range []struct {
		flag                     NameFlag
		exists, running, hasName bool
		want                     nameAction
	}{
		{NameAuto, false, false, true, makeNew},
		{NameAuto, false, false, false, failed},
		{NameAuto, true, false, false, useAgain},
		{NameAuto, true, false, true, useAgain},
		{NameAuto, true, true, false, join},
		{NameCreate, false, false, true, makeNew},
		{NameCreate, true, false, true, failed},
		{NameCreate, true, true, true, failed},
		{NameExec, true, true, false, join},
		{NameExec, true, false, true, failed},
		{NameExec, false, false, true, failed},
		{NameNoExec, true, false, true, useAgain},
		{NameNoExec, true, true, true, beside},
		{NameNoExec, false, false, true, makeNew},
	} {
		got, err := decideName(Name{Name: "n", Flag: row.flag}, row.exists, row.running, row.hasName)
		if err != nil {
			got = failed
		}
		if got != row.want {
			t.Errorf("%+v: %d, %v", row, got, err)
		}
	}
}

func TestNameIsKept(t *testing.T) {
	fixture(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			state := stateDir(t)
			o := Options{Image: w.image(), State: state, Writable: true, Name: Name{Name: "n", Flag: NameCreate}}
			shell(t, w.user, o, "echo one > /f; rm /opt/file")
			if got := run(t, w.user, o, "true"); !strings.Contains(got.err, "already exists") {
				t.Errorf("second creation: %+v", got)
			}
			o.Image, o.Name.Flag = "", NameAuto
			if got := shell(t, w.user, o, "cat /f; ls /opt; echo two > /f"); got != "one\noutside\nup\n" {
				t.Errorf("the second time: %q", got)
			}
			o.Name.Flag = NameNoExec
			if got := shell(t, w.user, o, "cat /f"); got != "two\n" {
				t.Errorf("the third time: %q", got)
			}
			o.Name.Flag = NameExec
			if got := run(t, w.user, o, "true"); !strings.Contains(got.err, "is not running") {
				t.Errorf("exec: %+v", got)
			}
			all := slices.DeleteFunc(must(List(w.user, state)), func(l Listed) bool { return l.Name == "" })
			if len(all) != 1 || all[0].Name != "n" || all[0].PID != 0 || all[0].Image != w.image() {
				t.Errorf("list: %+v", all)
			}
			if err := Remove(w.user, state, Name{Name: "n"}); err != nil {
				t.Error(err)
			}
			if err := Remove(w.user, state, Name{Name: "n"}); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("second removal: %v", err)
			}
			nothingLeft(t, "none")
		})
	}
}

func TestNameIsJoined(t *testing.T) {
	fixture(t)
	for _, who := range holders {
		t.Run(who.name, func(t *testing.T) {
			state := stateDir(t)
			o := Options{Image: shared.plain, User: who.user, State: state, Writable: true, Name: Name{Name: "n", Flag: NameAuto}}
			first := startHold(t, who.starter, o)
			o.Name.Flag, o.Mounts = NameExec, []Mount{{Source: "/etc", Target: "/host"}}
			second := startHold(t, who.starter, o)
			if second.fields[0] != "ok" || second.fields[1] != first.fields[1] || !slices.Contains(second.fields, "!ignoring --container-mounts when attaching to a running container") {
				t.Fatalf("the second: %q", second.fields)
			}
			if out, err := second.task("echo seen > /f").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := shell(t, who.user, Options{State: state, Name: Name{Name: "n", Flag: NameExec}}, "cat /f; ls -A /host 2>/dev/null; true"); got != "seen\n" {
				t.Errorf("run: %q", got)
			}
			if err := Remove(who.user, state, o.Name); !errors.Is(err, errRunning) {
				t.Errorf("removal while it runs: %v", err)
			}
			// The first one's end is not the second one's.
			task := second.task("echo ready; sleep 1000")
			out := must(task.StdoutPipe())
			if err := task.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
			if err := first.end(); err != nil {
				t.Error(err)
			}
			if len(must(residents(second.space, 0))) == 0 {
				t.Error("the second one's task has ended with the first")
			}
			third := startHold(t, who.starter, o)
			if third.fields[0] != "ok" {
				t.Errorf("the third: %q", third.fields)
			}
			if out, err := third.task("cat /f").CombinedOutput(); err != nil || string(out) != "seen\n" {
				t.Errorf("%v: %s", err, out)
			}
			if err := errors.Join(third.end(), second.end()); err != nil {
				t.Error(err)
			}
			_ = task.Wait()
			second.nothingLeft()
			if err := Remove(who.user, state, o.Name); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNamesOfJobs(t *testing.T) {
	fixture(t)
	state := stateDir(t)
	for _, u := range []User{ordinary, other} {
		for _, job := range []string{"7", "8", ""} {
			h := startHold(t, super, Options{Image: shared.trusted, User: u, State: state, Name: Name{Name: "n", Flag: NameCreate, Job: job}})
			if h.fields[0] != "ok" {
				t.Fatalf("%q", h.fields)
			}
			if err := h.end(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := RemoveJob(super, state, "7", true); err != nil {
		t.Error(err)
	}
	if err := RemoveJob(other, state, "8", false); err != nil {
		t.Error(err)
	}
	if err := RemoveJob(super, state, "nosuch", true); err != nil {
		t.Error(err)
	}
	var left []string
	for _, place := range must(filepath.Glob(state + "/*/*")) {
		left = append(left, strings.TrimPrefix(place, state))
	}
	if want := []string{"/54321/8:n", "/54321/n", "/54322/n"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
}

// TestNamespacesNumberIsAnothers sees that a container is not taken for running
// because its namespace's number now belongs to other processes.
func TestNamespacesNumberIsAnothers(t *testing.T) {
	fixture(t)
	state := stateDir(t)
	o := Options{Image: shared.trusted, State: state, Writable: true, Name: Name{Name: "n", Flag: NameCreate}}
	shell(t, super, o, "echo one > /f")
	e := &entryDir{dir: filepath.Join(state, "0", "n")}
	k, _, err := e.read(super)
	if err != nil {
		t.Fatal(err)
	}
	k.PID, k.Space = os.Getpid(), must(mountSpace(os.Getpid()))
	if err := e.write(super, k); err != nil {
		t.Fatal(err)
	}
	o.Name.Flag = NameAuto
	if got := shell(t, super, o, "cat /f"); got != "one\n" {
		t.Errorf("%q", got)
	}
	s := must(openSpace(os.Getpid()))
	defer s.close()
	if err := s.killAll(0); err == nil {
		t.Error("it would end itself and all others")
	}
}

// TestNameFailed sees that a container that could not be made has no name.
func TestNameFailed(t *testing.T) {
	fixture(t)
	state := stateDir(t)
	o := Options{Image: "/nosuch.sqsh", User: ordinary, State: state, Name: Name{Name: "n", Flag: NameAuto}}
	if h := startHold(t, super, o); h.fields[0] != "error" {
		t.Errorf("%q", h.fields)
	}
	if left, err := os.ReadDir(filepath.Join(state, itoa(ordinary.UID))); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestOthersCannotPrepareNames: what another put in the place of a user's containers is
// not used.
func TestOthersCannotPrepareNames(t *testing.T) {
	fixture(t)
	state := stateDir(t)
	place := filepath.Join(state, itoa(ordinary.UID))
	if err := errors.Join(os.Mkdir(place, 0o777), os.Chown(place, other.UID, other.GID)); err != nil {
		t.Fatal(err)
	}
	h := startHold(t, super, Options{Image: shared.trusted, User: ordinary, State: state, Name: Name{Name: "n", Flag: NameAuto}})
	if err := h.end(); err != nil || h.fields[0] != "ok" {
		t.Errorf("%q, %v", h.fields, err)
	}
	h.nothingLeft()
	if left, err := os.ReadDir(place); err != nil || len(left) != 0 {
		t.Errorf("another's directory was used: %v, %v", left, err)
	}
}

func TestWatched(t *testing.T) {
	for line, want := range map[string]string{
		"muster container run a.sqsh -- true":                        "a.sqsh",
		"/opt/muster container hold --image ./b.sqsh --user 1":       "./b.sqsh",
		"/opt/muster container hold --writable --image=/c.sqsh":      "/c.sqsh",
		"muster container hold --image b.sqsh --name n":              "",
		"muster container run a.sqsh --name=n -- true":               "",
		"muster container run --writable --workdir /x a.sqsh -- cat": "a.sqsh",
		"muster container list --state x":                            "",
		"muster container run a.sqsh -- muster --name x":             "a.sqsh",
		"cat container run a.sqsh":                                   "",
		"muster image list":                                          "",
	} {
		if got, _ := watched([]byte(strings.ReplaceAll(line, " ", "\x00") + "\x00")); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestNameWhereAnotherTookThePlace: who makes a user's directory first keeps nobody from
// containers with a name.
func TestNameWhereAnotherTookThePlace(t *testing.T) {
	fixture(t)
	state, elsewhere := stateDir(t), stateDir(t)
	if err := os.Symlink(elsewhere, filepath.Join(state, itoa(ordinary.UID))); err != nil {
		t.Fatal(err)
	}
	o := Options{Image: shared.plain, State: state, Writable: true, Name: Name{Name: "n", Flag: NameAuto, Job: "7"}}
	shell(t, ordinary, o, "echo one > /f")
	if got := shell(t, ordinary, o, "cat /f"); got != "one\n" {
		t.Errorf("got %q", got)
	}
	if all, err := List(ordinary, state); err != nil || len(all) != 1 || all[0].Name != "n" {
		t.Errorf("got %+v, %v", all, err)
	}
	if err := RemoveJob(super, state, "7", true); err != nil {
		t.Error(err)
	}
	if all, err := List(ordinary, state); err != nil || len(all) != 0 {
		t.Errorf("after its job: %+v, %v", all, err)
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 0 {
		t.Errorf("the link was followed: %v, %v", left, err)
	}
}

// TestNameTwice: beside a container that runs there may be another, which sees what the
// first one has written so far and keeps nothing.
func TestNameTwice(t *testing.T) {
	fixture(t)
	for _, who := range holders {
		t.Run(who.name, func(t *testing.T) {
			state := stateDir(t)
			o := Options{Image: shared.plain, User: who.user, State: state, Writable: true, Name: Name{Name: "n", Flag: NameAuto, Job: "7"}}
			first := startHold(t, who.starter, o)
			if out, err := first.task("echo first >/f; rm /opt/file").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			o.Image, o.Name.Flag = "", NameNoExec
			second := startHold(t, who.starter, o)
			if second.fields[0] != "ok" || second.space == first.space {
				t.Fatalf("the second: %q", second.fields)
			}
			if out, err := second.task("cat /f; test ! -e /opt/file; echo second >/f; cat /f").CombinedOutput(); err != nil || string(out) != "first\nsecond\n" {
				t.Errorf("in the second: %v: %q", err, out)
			}
			if out, err := first.task("cat /f").CombinedOutput(); err != nil || string(out) != "first\n" {
				t.Errorf("in the first: %v: %q", err, out)
			}
			if err := first.end(); err != nil {
				t.Error(err)
			}
			if len(must(residents(second.space, 0))) == 0 {
				t.Error("the second one has ended with the first")
			}
			if err := second.end(); err != nil {
				t.Error(err)
			}
			second.nothingLeft()
			o.Name.Flag = NameAuto
			third := startHold(t, who.starter, o)
			if out, err := third.task("cat /f").CombinedOutput(); err != nil || string(out) != "first\n" {
				t.Errorf("afterwards: %v: %q", err, out)
			}
			if err := third.end(); err != nil {
				t.Error(err)
			}
			third.nothingLeft()
		})
	}
}
