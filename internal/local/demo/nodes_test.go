package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnswered(t *testing.T) {
	names := []string{"n-1", "n-2", "n-10"}
	const all = "n-10 10.99.0.3  GPUs 0,1\nn-1 10.99.0.1  GPUs 0,1\nn-2 10.99.0.2  GPUs 0,1\n"
	cases := map[string]struct {
		output  string
		want    []string
		problem string
	}{
		"all_in_their_order": {all, []string{"n-1  10.99.0.1  GPUs  0,1", "n-2  10.99.0.2  GPUs  0,1", "n-10  10.99.0.3  GPUs  0,1"}, ""},
		"one_missing":        {"n-1 10.99.0.1 GPUs 0\nn-10 10.99.0.3 GPUs 0\n", nil, "no answer of n-2"},
		"nothing":            {"", nil, "no answer of n-[1-2,10]"},
		"one_twice":          {all + "n-2 10.99.0.4 GPUs 0,1\n", nil, "n-2 answered twice"},
		"a_stranger":         {all + "laptop 10.99.0.4 GPUs 0,1\n", nil, "laptop answered, which is no node of the file"},
		"the_same_address":   {"n-1 10.99.0.1 GPUs 0\nn-2 10.99.0.1 GPUs 0\n", nil, "n-1 and n-2 have the same address 10.99.0.1"},
		"no_GPUs":            {"n-1 10.99.0.1 GPUs \n", nil, `an answer is "n-1 10.99.0.1 GPUs" instead of a name, an address and GPUs`},
		"an_error":           {"srun: error: Unable to allocate resources\n", nil, `an answer is "srun: error: Unable to allocate resources" instead of a name, an address and GPUs`},
	}
	for name, c := range cases {
		got, err := answered(c.output, names)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if diff := cmp.Diff(c.want, got); diff != "" || problem != c.problem {
			t.Errorf("%s: %q (-want +got):\n%s", name, problem, diff)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for _, c := range []struct{ lines, want []string }{
		{nil, nil},
		{[]string{"1", "2", "3", "4", "5"}, []string{"1", "2", "3", "4", "5"}},
		{[]string{"1", "2", "3", "4", "5", "6"}, []string{"1", "2", "3", "... 2 more", "6"}},
	} {
		if diff := cmp.Diff(c.want, excerpt(c.lines)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
