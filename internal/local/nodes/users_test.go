package nodes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCaughtUp: who is new comes to a machine's list, and what jobs changed in it stays.
func TestCaughtUp(t *testing.T) {
	for name, c := range map[string]struct{ have, other, want string }{
		"a_new_user": {
			"root:x:0:0::/root:/bin/zsh\njob:x:7:7::/:/bin/sh\n", "root:x:0:0::/root:/bin/sh\nada:x:1000:100::/home/ada:/bin/bash\n",
			"root:x:0:0::/root:/bin/zsh\njob:x:7:7::/:/bin/sh\nada:x:1000:100::/home/ada:/bin/bash\n",
		},
		"nobody_new":          {"root:x:0:0::/:/bin/sh\ngone:x:1:1::/:/bin/sh", "root:x:0:0::/:/bin/sh\n", "root:x:0:0::/:/bin/sh\ngone:x:1:1::/:/bin/sh"},
		"no_end_of_line":      {"root:x:0:0::/:/bin/sh", "ada:x:1:1::/:/bin/sh", "root:x:0:0::/:/bin/sh\nada:x:1:1::/:/bin/sh\n"},
		"members":             {"gpu:x:50:\nwork:x:51:job\n", "gpu:x:50:ada\nwork:x:51:ada,job\nnew:x:52:ada\n", "gpu:x:50:ada\nwork:x:51:job,ada\nnew:x:52:ada\n"},
		"another_group":       {"gpu:x:50:\n", "gpu:x:60:ada\n", "gpu:x:50:\n"},
		"what_is_no_user":     {"a:x:1:1::/:/bin/sh\n", "\n# nobody\n", "a:x:1:1::/:/bin/sh\n"},
		"nothing_of_the_host": {"a:x:1:\n", "", "a:x:1:\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := caughtUp(c.have, c.other)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if again := caughtUp(got, c.other); again != got {
				t.Errorf("once more it is\n%s", again)
			}
		})
	}
}

// TestLearn changes the lists that are there, and makes none.
func TestLearn(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(root, "etc", "passwd")
	if err := os.WriteFile(users, []byte("a:x:1:1::/:/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := learn(root, map[string]string{"/etc/passwd": "b:x:2:2::/:/bin/sh\n", "/etc/group": "b:x:2:\n"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(users); err != nil || string(text) != "a:x:1:1::/:/bin/sh\nb:x:2:2::/:/bin/sh\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if entries, err := os.ReadDir(filepath.Join(root, "etc")); err != nil || len(entries) != 1 {
		t.Errorf("there is more: %v, %v", entries, err)
	}
	if info, err := os.Stat(users); err != nil || info.Mode() != 0o644 {
		t.Errorf("got %v, %v", info, err)
	}
}
