package probe

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Messages of tasks come in any order, cut anywhere, and a user's process writes between them.
func TestRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		want := map[string]Report{}
		streams := map[int][]byte{}
		for task := range 1 + r.IntN(12) {
			report := Report{Node: fmt.Sprintf("node-%d", task), Processes: []Process{{PID: task, Stack: strings.Repeat("a line: of a stack\n", r.IntN(300))}}}
			want[report.Node] = report
			var text bytes.Buffer
			if err := report.Write(&text); err != nil {
				t.Fatal(err)
			}
			streams[task] = text.Bytes()
		}
		step := []byte("srun: a word of its own\n99: not a report\n")
		for len(streams) > 0 {
			for task, text := range streams { // in the order of a map, which is none
				n := min(len(text), 1+r.IntN(1024))
				step = fmt.Appendf(step, "%2d: %s\n", task, bytes.TrimSuffix(text[:n], []byte("\n")))
				if streams[task] = text[n:]; n == len(text) {
					delete(streams, task)
				}
			}
		}
		got := map[string]Report{}
		for _, report := range Read(step) {
			got[report.Node] = report
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}
