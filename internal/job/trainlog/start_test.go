package trainlog_test

import "testing"

// Lines of others are not what an interpreter or a shell says of a program that it does not find.
func TestNotOfTheStart(t *testing.T) {
	for _, line := range []string{
		"pip: No module named x",
		"WARNING: No module named 'apex'",
		"python train.py: No module named",
		"my python: can't open file 'x'",
		"python3: warning: can't open file 'x'",
		"python3: Error while finding module specification for 'x' (",
		"python3: Error while finding module specification for 'x' (no exception)",
		"cp: /x/y: No such file or directory",
		"train.sh: line : foo: command not found",
		"train.sh: line 3 foo: command not found",
		"train.sh: line 3: foo: command not found, but went on",
		"sh: 1: Permission denied",
	} {
		if found := read(line + "\n").Signs; len(found) != 0 {
			t.Errorf("%q says %+v", line, found)
		}
	}
}
