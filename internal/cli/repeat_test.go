package cli

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// mostStartAllocs is what the tree of all commands may take. It is made at every
// start, also of those that Slurm waits for.
const mostStartAllocs = 1650

func TestRoot_is_made_with_little(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { (&app{}).root() }); n > mostStartAllocs {
		t.Errorf("the commands take %.0f allocations, more than %d", n, mostStartAllocs)
	}
}

func TestRepeat_keeps_what_is_given_in_order(t *testing.T) {
	var got []string
	s := pflag.NewFlagSet("", pflag.ContinueOnError)
	repeat(s, &got, "env", "`KEY=VALUE`")
	if err := s.Parse([]string{"--env", "A=1,2", "--env=", "--env", "B"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"A=1,2", "", "B"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if usage, want := s.FlagUsages(), "      --env KEY=VALUE   KEY=VALUE\n"; usage != want {
		t.Errorf("its help is %q, want %q", usage, want)
	}
}
