package meter_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/verify/meter"
)

func TestALineIsShortWhateverItSays(t *testing.T) {
	long := strings.Repeat("äöü\x00\xff\n", 500)
	one := meter.StorageTask{Phase: "write", Node: "n1", Dir: long, Error: long, Notes: []string{long, long, long, long}, Run: "a1b2c3d4", Fault: meter.FaultFull,
		Write: &meter.StorageRate{Bytes: 1 << 50, Seconds: 1.23456789012345}, Read: &meter.StorageRate{Of: "n2"}, Meta: &meter.MetadataRates{Create: 1.0 / 3}}
	line := one.Line()
	if len(line) >= 1000 || strings.ContainsAny(line, "\n\x00") {
		t.Fatalf("%d bytes: %q", len(line), line)
	}
	got, err := meter.ReadStorageTask(line)
	if err != nil || got.Write.Bytes != 1<<50 || got.Fault != meter.FaultFull {
		t.Errorf("%v: %+v", err, got)
	}
}

func FuzzReadStorageTask(f *testing.F) {
	f.Add(`{"phase":"read","node":"n1","read":{"bytes":5,"seconds":-1}}`)
	f.Add("srun: error: n1: task 0: Exited")
	f.Fuzz(func(t *testing.T, line string) {
		got, err := meter.ReadStorageTask(line)
		if err == nil && len(got.Line()) >= 1000 {
			t.Errorf("%d bytes", len(got.Line()))
		}
	})
}
