package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/local/doctor"
	"github.com/muster-hpc/muster/internal/say/fault"
)

func TestDoctorsVerdict(t *testing.T) {
	for _, row := range []struct {
		name     string
		statuses []doctor.Status
		want     int
	}{
		{"all_well", []doctor.Status{doctor.Pass, doctor.Skip}, fault.ExitDone},
		{"a_warning_is_no_lack", []doctor.Status{doctor.Pass, doctor.Warn}, fault.ExitDone},
		{"blind_is_no_pass", []doctor.Status{doctor.Blind, doctor.Warn, doctor.Pass}, fault.ExitLook},
		{"something_is_missing", []doctor.Status{doctor.Blind, doctor.Fail, doctor.Pass}, fault.ExitProblem},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r doctor.Report
			for _, s := range row.statuses {
				r.Checks = append(r.Checks, doctor.Finding{Name: "x", Status: s})
			}
			var out strings.Builder
			err := (&app{out: &out, output: "text"}).verdict(r)
			got := fault.ExitDone
			if code, ok := errors.AsType[fault.Exit](err); ok {
				got = int(code)
			}
			if got != row.want || (out.String() == "nothing is missing\n") != (row.want == fault.ExitDone) {
				t.Errorf("got exit code %d and %q, want %d", got, out.String(), row.want)
			}
		})
	}
}

func TestDoctorNamesTheCommandThatMends(t *testing.T) {
	if got := mendWith(doctorOptions{demo: true}); !strings.HasSuffix(got, " doctor --yes --demo") || !strings.HasPrefix(got, "/") {
		t.Errorf("got %q", got)
	}
}
