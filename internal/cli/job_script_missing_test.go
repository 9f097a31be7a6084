package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/job/jobfile"
)

// TestMissingScript: a script that is not there is said at its line, where it can be seen.
func TestMissingScript(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, message, hint string }{
		"is_there":     {"Script: train.py\n", "", ""},
		"misspelt":     {"Script: trian.py\n", "there is no file " + dir + "/trian.py", "did you mean " + dir + "/train.py?"},
		"no_directory": {"Script: src/train.py\n", "there is no file " + dir + "/src/train.py", "the directory " + dir + "/src does not exist, either"},
		"in_an_image":  {"Script: /opt/train.py\nImage: x.sqsh\n", "", ""},
		"a_module":     {"Module: package.train\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			j, list := jobfile.Parse("job.yaml", dir, []byte("Job: x\nNodes: 1\nTime: 10\nLauncher: torchrun\n"+c.file))
			if j == nil {
				t.Fatal(list.All())
			}
			all := missingScript(j).All()
			if c.message == "" {
				if len(all) > 0 {
					t.Errorf("%+v", all)
				}
				return
			}
			if len(all) != 1 || all[0].Message != c.message || all[0].Hint != c.hint || all[0].Code != "job/script" || all[0].Line != 5 {
				t.Errorf("%+v", all)
			}
		})
	}
}
