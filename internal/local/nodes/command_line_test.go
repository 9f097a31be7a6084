package nodes

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// A process that turns into another program all the time shows nothing or a whole command line, never the beginning of one.
func TestReadOnce_cuts_no_command_line(t *testing.T) {
	const again = `exec /bin/sh -c "$0" "$0" "$1" muster-node n1`
	cmd := exec.Command("/bin/sh", "-c", again, again, strings.Repeat("x", 900), "muster-node", "n1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	seen := 0
	for range 50_000 {
		line, err := readOnce(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if len(line) == 0 {
			continue
		}
		if seen++; !bytes.HasSuffix(line, []byte("\x00muster-node\x00n1\x00")) {
			t.Fatalf("cut: %q", line)
		}
	}
	if seen == 0 {
		t.Error("it has shown no command line")
	}
}
