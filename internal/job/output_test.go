package job_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job"
)

// step is what happens to a file, and what Copy is to write after it.
type step struct {
	do   func(path string) error
	want string
}

func write(text string) func(string) error {
	return func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }
}

func add(text string) func(string) error {
	return func(path string) error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}
}

// replace puts another file in the place of path.
func replace(text string) func(string) error {
	return func(path string) error {
		return errors.Join(os.WriteFile(path+".new", []byte(text), 0o644), os.Rename(path+".new", path))
	}
}

func wait(string) error { return nil }

func TestOutput(t *testing.T) {
	cases := map[string][]step{
		"not_there_yet":        {{wait, ""}, {add("one\n"), "one\n"}, {wait, ""}},
		"grows":                {{write("one\n"), "one\n"}, {add("two"), "two"}, {add("\n"), "\n"}},
		"truncated":            {{write("one\ntwo\n"), "one\ntwo\n"}, {write("1\n"), "1\n"}, {add("2\n"), "2\n"}},
		"emptied":              {{write("one\n"), "one\n"}, {write(""), ""}, {add("new\n"), "new\n"}},
		"written_anew_longer":  {{write("one\n"), "one\n"}, {write("other and longer\n"), "other and longer\n"}},
		"replaced":             {{write("one\n"), "one\n"}, {replace("next\n"), "next\n"}},
		"replaced_same_length": {{write("one\n"), "one\n"}, {replace("two\n"), "two\n"}},
		"removed":              {{write("one\n"), "one\n"}, {os.Remove, ""}, {write("again\n"), "again\n"}},
		"bytes_as_they_are":    {{write("\xff\x00\x1b[31m\r\n"), "\xff\x00\x1b[31m\r\n"}},
		"rotated_with_rest": {{write("one\n"), "one\n"}, {func(path string) error {
			return errors.Join(add("rest\n")(path), replace("next\n")(path))
		}, "rest\nnext\n"}},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out")
			o := &job.Output{Path: path}
			defer o.Close()
			for i, s := range steps {
				if err := s.do(path); err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				for more := true; more; {
					var err error
					if more, err = o.Copy(&got); err != nil {
						t.Fatal(err)
					}
				}
				if got.String() != s.want {
					t.Errorf("step %d: got %q, want %q", i, &got, s.want)
				}
			}
		})
	}
}

// TestOutputIsReadInSteps: a file of several steps comes whole, and Copy says
// when there is more.
func TestOutputIsReadInSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	want := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
	o := &job.Output{Path: path}
	defer o.Close()
	var got bytes.Buffer
	calls := 0
	for more := true; more; calls++ {
		var err error
		if more, err = o.Copy(&got); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), want) || calls < 3 {
		t.Errorf("got %d bytes of %d in %d calls", got.Len(), len(want), calls)
	}
}

// TestOutputLeavesAnOlderFileAlone: the file of another job of that name does
// not count until this job writes to it.
func TestOutputLeavesAnOlderFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	o := &job.Output{Path: path, Since: now.Add(-time.Minute)}
	defer o.Close()
	var got bytes.Buffer
	if _, err := o.Copy(&got); err != nil || got.Len() > 0 {
		t.Errorf("got %q, %v of the old file", &got, err)
	}
	if err := os.WriteFile(path, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Copy(&got); err != nil || got.String() != "new" {
		t.Errorf("got %q, %v", &got, err)
	}
}

func TestOutputThatIsNoFile(t *testing.T) {
	for name, path := range map[string]string{"directory": t.TempDir(), "device": os.DevNull} {
		t.Run(name, func(t *testing.T) {
			o := &job.Output{Path: path}
			var got bytes.Buffer
			if _, err := o.Copy(&got); err == nil {
				t.Errorf("no error for %s", path)
			}
		})
	}
}

func TestReadProgress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if _, ok, err := job.ReadProgress(path, os.Geteuid()); ok || err != nil {
		t.Errorf("of no file: %v, %v", ok, err)
	}
	text := "Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n"
	if err := os.WriteFile(path, append(bytes.Repeat([]byte("x\n"), 1<<20), text...), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, ok, err := job.ReadProgress(path, os.Geteuid()); !ok || err != nil || p.Batch != 3 {
		t.Errorf("got %+v, %v, %v", p, ok, err)
	}
}
