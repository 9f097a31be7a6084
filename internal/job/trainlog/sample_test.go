package trainlog_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// TestRecorded compares what recorded logs say with what they were found to say, one line for each sample and sign.
func TestRecorded(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs in testdata: %v", err)
	}
	for _, log := range logs {
		name := strings.TrimSuffix(filepath.Base(log), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			found := read(string(text))
			var out strings.Builder
			for _, s := range found.Samples {
				out.WriteString(told(s) + "\n")
			}
			for _, s := range found.Signs {
				out.WriteString(told(s) + "\n")
			}
			golden.Check(t, name+".found", out.String())
		})
	}
}

// told is a struct as text: what it says, and nothing of the rest.
func told(of any) string {
	v := reflect.ValueOf(of)
	var out []string
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		switch f := field.Interface().(type) {
		case trainlog.Value:
			if f.Known {
				out = append(out, fmt.Sprintf("%s=%v", name, f.Float))
			}
		case trainlog.Place:
			out = append(out, fmt.Sprintf("%d:", f.Line))
		case time.Time:
			if !f.IsZero() {
				out = append(out, "at "+f.Format("2006-01-02T15:04:05.999999999"))
			}
		case string:
			if text, _ := json.Marshal(f); f != "" {
				out = append(out, name+"="+string(text))
			}
		default:
			none := field.IsZero()
			if name == "Step" || name == "Rank" || name == "Task" || name == "LocalRank" {
				none = field.Int() == trainlog.NoRank
			}
			if !none {
				out = append(out, fmt.Sprintf("%s=%v", name, f))
			}
		}
	}
	return strings.Join(out, " ")
}

var inf = math.Inf(1)
