package nodes_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/sys/growth"
)

// childCloud and childDeed are variables of TestInAProcessOfItsOwn: where its cloud
// is, and what it does.
const (
	childCloud = "MUSTER_TEST_CLOUD"
	childDeed  = "MUSTER_TEST_DEED"
)

// TestInAProcessOfItsOwn is what TestSpeed measures; without a cloud it has nothing
// to do.
func TestInAProcessOfItsOwn(t *testing.T) {
	c := &cloud{url: os.Getenv(childCloud)}
	if c.url == "" {
		return
	}
	f := open(t, c.config(t))
	switch os.Getenv(childDeed) {
	case "observe":
		if got := len(observe(t, f)); got != 1000 {
			t.Errorf("%d instances are observed", got)
		}
	case "launch":
		launchAll(t, f, true, nodeNames("dy-r", 1, 1000)...)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, most, _ := bytes.Cut(status, []byte("VmHWM:"))
	most, _, _ = bytes.Cut(most, []byte(" kB"))
	fmt.Printf("most memory: %s\n", bytes.TrimSpace(most))
}

// raced tells whether the race detector watches.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// A thousand instances with 32 interfaces each, 34 MB of XML, are launched or seen
// with little CPU and memory: less than half of what a library for XML takes to find the tokens of
// as much. The race detector takes its own.
func TestSpeed(t *testing.T) {
	limit := 5 * tokens(t, 100)
	for _, deed := range []string{"nothing", "observe", "launch"} {
		t.Run(deed, func(t *testing.T) {
			c := newCloud(t)
			if deed == "observe" {
				launchAll(t, open(t, c.config(t)), true, nodeNames("dy-r", 1, 1000)...)
			}
			c.mu.Lock()
			c.interfaces = 32
			c.mu.Unlock()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInAProcessOfItsOwn$")
			child.Env = append(os.Environ(), childCloud+"="+c.url, childDeed+"="+deed)
			out, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var kilobytes int
			if _, err := fmt.Sscanf(string(out), "most memory: %d", &kilobytes); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			cpu := child.ProcessState.UserTime() + child.ProcessState.SystemTime()
			t.Logf("%s: %s of %s of CPU, %d MB", deed, cpu.Round(time.Millisecond), limit.Round(time.Millisecond), kilobytes>>10)
			if !raced() && (cpu > limit || kilobytes > 60<<10) {
				t.Errorf("%s took %s of CPU, with a limit of %s, and %d KB", deed, cpu, limit, kilobytes)
			}
		})
	}
}

// tokens is the CPU that encoding/xml takes to find the tokens of so many instances.
func tokens(t *testing.T, instances int) time.Duration {
	t.Helper()
	c := newCloud(t)
	launchAll(t, open(t, c.config(t)), true, nodeNames("dy-r", 1, instances)...)
	c.mu.Lock()
	c.interfaces = 32
	c.mu.Unlock()
	_, text := c.answer("DescribeInstances", url.Values{"MaxResults": {strconv.Itoa(instances)}}, nil)
	begun := growth.Busy(t)
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.RawToken(); err == io.EOF {
			return growth.Busy(t) - begun
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
