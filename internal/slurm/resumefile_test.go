package slurm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseResumeFile(t *testing.T) {
	cases := map[string]struct {
		file []byte
		want []ResumeJob
	}{
		"job_22_05": {sample(t, "slurm-22.05.8", "cloud", "resume-job.json"),
			[]ResumeJob{{ID: 1, Nodes: "q-dy-p5e-[1-2]"}}},
		"by_hand_22_05": {sample(t, "slurm-22.05.8", "cloud", "resume-by-hand.json"),
			nil},
		"job_23_02": {[]byte(`{"jobs":[{"extra":null,"job_id":140814,"features":"c1","nodes_alloc":"q-[1-3]","nodes_resume":"q-[1,3]",
			"oversubscribe":"OK","partition":"q","reservation":null}],"all_nodes_resume":"q-[1,3]"}`),
			[]ResumeJob{{ID: 140814, Nodes: "q-[1,3]"}}},
		"number_as_text": {[]byte(`{"jobs":[{"job_id":"7","nodes":"a"}]}`),
			[]ResumeJob{{ID: 7, Nodes: "a"}}},
		"nothing": {[]byte(`{}`), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseResumeFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseResumeFileRefuses(t *testing.T) {
	for _, file := range []string{"", "[]", `{"jobs":[{"nodes":"a"}]}`, `{"jobs":[{"job_id":1.5}]}`} {
		if got, err := ParseResumeFile([]byte(file)); err == nil {
			t.Errorf("ParseResumeFile(%q) = %+v, want an error", file, got)
		}
	}
}

func FuzzParseResumeFile(f *testing.F) {
	f.Add(sample(f, "slurm-22.05.8", "cloud", "resume-job.json"))
	f.Fuzz(func(t *testing.T, file []byte) {
		jobs, err := ParseResumeFile(file)
		if err != nil && jobs != nil {
			t.Errorf("an error and %+v", jobs)
		}
	})
}
