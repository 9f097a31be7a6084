package slurm

import (
	"strings"
	"testing"
	"time"
)

func TestParseSteps(t *testing.T) {
	row := func(columns ...string) string { return strings.Join(append(columns, columns[0]), historyDelimiter) }
	output := strings.Join([]string{
		strings.ReplaceAll(stepFields, ",", historyDelimiter),
		row("7", "llama", "NODE_FAIL", "0:0", "0:0", "2026-11-23T10:00:00", "2026-11-23T10:05:00", "q-[1-2]", "None", "", ""),
		row("7.batch", "batch", "CANCELLED", "0:15", "", "2026-11-23T10:00:00", "2026-11-23T10:05:00", "q-1", "", "1", "Unknown"),
		row("7", "a name\nof two lines", "CANCELLED by 1000", "0:0", "9:0", "2026-11-23T10:06:00", "Unknown", "None assigned", "NodeDown", "", ""),
		row("7.0", "python3", "FAILED", "9:0", "", "2026-11-23T10:06:01", "2026-11-23T10:07:00", "q-[3-4]", "", "2", "Cyclic"),
		row("8.0", "python3", "FAILED", "9:0", "", "2026-11-23T10:06:01", "2026-11-23T10:07:00", "q-[3-4]", "", "2", "Cyclic"),
		row("7.1", "python3", "FAILED", "many", "", "2026-11-23T10:06:01", "2026-11-23T10:07:00", "q-[3-4]", "", "2", "Cyclic"),
	}, "\n") + "\n"
	at := func(clock string) time.Time {
		when, err := time.ParseInLocation("15:04:05 2006-01-02", clock+" 2026-11-23", time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	all := parseSteps([]byte(output), historyDelimiter, 7, at("10:00:00"), time.UTC)
	if len(all) != 4 || all[0].NodeList != "q-[1-2]" || all[1].ExitCode.Signal != 15 || all[3].Command != "python3" || all[0].Tasks != 0 || all[3].Tasks != 2 || all[3].Layout != "Cyclic" {
		t.Fatalf("got %+v", all)
	}
	if last := all[2]; last.State != "CANCELLED" || last.CancelledBy != "1000" || last.Derived.Code != 9 || !last.End.IsZero() || last.NodeList != "" || last.Reason != "NodeDown" {
		t.Errorf("got %+v", last)
	}
	if later := parseSteps([]byte(output), historyDelimiter, 7, at("10:06:00"), time.UTC); len(later) != 2 {
		t.Errorf("of the second run: %+v", later)
	}
}
