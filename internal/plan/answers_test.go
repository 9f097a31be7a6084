package plan_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/muster-hpc/muster/internal/sys/golden"
)

// TestNew_answers holds all that an estimate says, in JSON and in its notes, for
// files that have something of everything.
func TestNew_answers(t *testing.T) {
	for _, row := range []struct {
		name   string
		prices map[string]float64
	}{
		{"empty", nil},
		{"block", nil},
		{"blocks", map[string]float64{"p5.48xlarge": 30}},
		{"models", map[string]float64{"p5en.48xlarge": 20.5}},
	} {
		t.Run(row.name, func(t *testing.T) {
			cluster, err := os.ReadFile("testdata/answers/" + row.name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			workload, err := os.ReadFile("testdata/answers/" + row.name + ".muster.yaml")
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			q := ask(t, string(cluster), string(workload))
			q.Prices = row.prices
			golden.Check(t, "answers/"+row.name+".json", rounded(t, answer(t, q)))
		})
	}
}

var fraction = regexp.MustCompile(`[:,\[]\d+\.?\d*(e-?\d+)?`)

// rounded is a value in JSON with six decimals of each number: the last digits are
// the processor's.
func rounded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	text = fraction.ReplaceAllFunc(text, func(number []byte) []byte {
		f, err := strconv.ParseFloat(string(number[1:]), 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.AppendFloat(number[:1], math.Round(f*1e6)/1e6, 'f', -1, 64)
	})
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}
