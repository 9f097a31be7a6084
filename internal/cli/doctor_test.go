package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/local/doctor"
)

func TestDoctorsVerdict(t *testing.T) {
	for _, row := range []struct {
		name     string
		statuses []doctor.Status
		want     int
	}{
		{"all_well", []doctor.Status{doctor.Pass, doctor.Skip}, exitDone},
		{"a_warning_is_no_lack", []doctor.Status{doctor.Pass, doctor.Warn}, exitDone},
		{"blind_is_no_pass", []doctor.Status{doctor.Blind, doctor.Warn, doctor.Pass}, exitLook},
		{"something_is_missing", []doctor.Status{doctor.Blind, doctor.Fail, doctor.Pass}, exitProblem},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r doctor.Report
			for _, s := range row.statuses {
				r.Checks = append(r.Checks, doctor.Finding{Name: "x", Status: s})
			}
			var out strings.Builder
			err := (&app{out: &out, output: "text"}).verdict(r)
			got := exitDone
			if code, ok := errors.AsType[exitCode](err); ok {
				got = int(code)
			}
			if got != row.want || (out.String() == "nothing is missing\n") != (row.want == exitDone) {
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
