package slurm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	cases := map[string]struct {
		list string
		want []string
	}{
		"nothing":          {"", nil},
		"one":              {"login", []string{"login"}},
		"range":            {"q-dy-p5e-[1-3,7]", []string{"q-dy-p5e-1", "q-dy-p5e-2", "q-dy-p5e-3", "q-dy-p5e-7"}},
		"leading_zeros":    {"q[08-10]", []string{"q08", "q09", "q10"}},
		"several":          {"a[1-2],b-[01],c", []string{"a1", "a2", "b-01", "c"}},
		"two_groups":       {"r[1-2]n[1-2]-ib", []string{"r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"}},
		"spaces":           {" a , b[1] ", []string{"a", "b1"}},
		"keeps_duplicates": {"b,a,b", []string{"b", "a", "b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Expand(c.list)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExpandRefuses(t *testing.T) {
	cases := map[string]string{
		"open_bracket":    "a[1-2",
		"stray_bracket":   "a1-2]",
		"nested":          "a[1-[2]]",
		"empty_name":      "a,,b",
		"empty_group":     "a[]",
		"backwards":       "a[5-1]",
		"no_number":       "a[x]",
		"negative":        "a[-1]",
		"long_number":     "a[1-99999999999999999999]",
		"bomb":            "a[1-999999][1-999999]",
		"many_small":      "a[1-50000],b[1-50001]",
		"wide_product":    "a[0-9][0-9][0-9][0-9][0-9][0-9]",
		"many_brackets":   "a" + strings.Repeat("[1]", 9),
		"long_name":       strings.Repeat("a", 300),
		"space_inside":    "a b",
		"control_letters": "a\x00b",
	}
	for name, list := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := Expand(list); err == nil {
				t.Errorf("Expand(%q) = %d names, want an error", list, len(got))
			}
		})
	}
}

func TestCompress(t *testing.T) {
	cases := map[string]struct {
		names []string
		want  string
	}{
		"nothing":         {nil, ""},
		"one":             {[]string{"q-1"}, "q-1"},
		"duplicates":      {[]string{"q-1", "q-1"}, "q-1"},
		"runs":            {[]string{"q-7", "q-1", "q-3", "q-2"}, "q-[1-3,7]"},
		"zeros":           {[]string{"q08", "q09", "q10", "q11"}, "q[08-11]"},
		"mixed_widths":    {[]string{"q1", "q01", "q2", "q02"}, "q[1-2],q[01-02]"},
		"other_prefixes":  {[]string{"b1", "a1", "login", "b2"}, "a1,b[1-2],login"},
		"number_only":     {[]string{"7", "8"}, "7,8"},
		"very_long":       {[]string{"a1234567890123"}, "a1234567890123"},
		"number_up_front": {[]string{"r2n1-ib", "r2n2-ib"}, "r2n1-ib,r2n2-ib"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Compress(c.names); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCompressGroupsLongRanges(t *testing.T) {
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("gpu-queue-dy-p5e-nodes-%d", i+1))
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if got, want := Compress(names), "gpu-queue-dy-p5e-nodes-[1-5000]"; got != want {
		t.Errorf("got %q, want %q", shorten(got), want)
	}
}

// sameNames says whether two lists have the same names, each once in got.
func sameNames(names, got []string) bool {
	want := slices.Compact(slices.Sorted(slices.Values(names)))
	return slices.Equal(want, slices.Sorted(slices.Values(got)))
}

func TestExpandUndoesCompress(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	prefixes := []string{"q-dy-x-", "q", "a1b", "n-"}
	for range 2000 {
		var names []string
		for range r.IntN(40) {
			names = append(names, fmt.Sprintf("%s%0*d", prefixes[r.IntN(len(prefixes))], r.IntN(4), r.IntN(120)))
		}
		list := Compress(names)
		got, err := Expand(list)
		if err != nil || !sameNames(names, got) {
			t.Fatalf("Compress(%q) = %q, which is %q, %v", names, list, got, err)
		}
		if again := Compress(got); again != list {
			t.Fatalf("Compress is not stable: %q, then %q", list, again)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, list := range []string{"q-[1-2,07],login", "a[1-2]b[3]", "a[", "[1-3]", "a[1-100000]", ",", "a[001-10]"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names, err := Expand(list)
		if err != nil {
			return
		}
		if len(names) > maxHosts {
			t.Fatalf("%d names", len(names))
		}
		if len(names) > 1000 {
			return
		}
		again, err := Expand(Compress(names))
		if err != nil || !sameNames(names, again) {
			t.Fatalf("%q is %q, but again %q, %v", list, names, again, err)
		}
	})
}
