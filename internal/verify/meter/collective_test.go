package meter

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTable_reads_back: what Table writes, ReadCollective reads, and Table writes the same again.
func TestTable_reads_back(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := anyCollective(r)
		text := Table(c)
		got := ReadCollective([]byte(text))
		if again := Table(got); again != text {
			t.Fatalf("seed %d: %s", seed, cmp.Diff(text, again))
		}
		if !got.Whole || len(got.Rows) != len(c.Rows) || got.Ranks != c.Ranks || got.Name != c.Name {
			t.Fatalf("seed %d: %+v of\n%s", seed, got, text)
		}
		for i, row := range got.Rows {
			near(t, row.OutOfPlace, c.Rows[i].OutOfPlace)
			near(t, row.InPlace, c.Rows[i].InPlace)
		}
	}
}

// near holds for numbers that the table's columns have room for.
func near(t *testing.T, got, want *Measure) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if got == nil {
		return
	}
	for _, pair := range [][2]float64{{got.TimeUs, want.TimeUs}, {got.AlgGBps, want.AlgGBps}, {got.BusGBps, want.BusGBps}} {
		if math.Abs(pair[0]-pair[1]) > 0.0051+math.Abs(pair[1])*0.001 && pair[1] < 1e6 {
			t.Errorf("got %g, want %g", pair[0], pair[1])
		}
	}
	if diff := cmp.Diff(want.Wrong, got.Wrong); diff != "" {
		t.Error(diff)
	}
}

func anyCollective(r *rand.Rand) Collective {
	c := Collective{Name: pick(r, "", "all_reduce", "sendrecv"), AvgBusGBps: float64(r.IntN(5000)) / 8}
	if r.IntN(2) == 0 {
		c.NCCL = 22903
	}
	if r.IntN(2) == 0 {
		wrong := int64(r.IntN(3))
		c.OutOfBounds = &wrong
	}
	for rank := range r.IntN(4) {
		c.Devices = append(c.Devices, Device{Rank: rank, PID: r.IntN(1 << 22), Host: pick(r, "n", "p5-st-gpu-1"), Index: rank, Bus: "0000:53:00", Name: pick(r, "NVIDIA H100 80GB HBM3", "gloo")})
	}
	c.Ranks = len(c.Devices)
	for i := range 1 + r.IntN(5) {
		row := Row{Bytes: 8 << (i * 8), Count: 2 << (i * 8), Type: pick(r, "float", "bfloat16", "uint8", "f8e4m3"), RedOp: pick(r, "sum", "none", "avg"), Root: r.IntN(9) - 1}
		row.OutOfPlace, row.InPlace = anyMeasure(r), anyMeasure(r)
		if row.OutOfPlace == nil && row.InPlace == nil {
			row.InPlace = &Measure{TimeUs: 1}
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

func anyMeasure(r *rand.Rand) *Measure {
	if r.IntN(5) == 0 {
		return nil
	}
	m := Measure{TimeUs: math.Exp(r.Float64() * 20), AlgGBps: math.Exp(r.Float64()*12 - 4), BusGBps: math.Exp(r.Float64()*12 - 4)}
	if r.IntN(2) == 0 {
		wrong := int64(r.IntN(100))
		m.Wrong = &wrong
	}
	return &m
}

func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

// TestReadCollective_says_what_is_missing has outputs that people bring.
func TestReadCollective_says_what_is_missing(t *testing.T) {
	one := Table(Collective{Name: "all_reduce", Rows: []Row{{Bytes: 8, Count: 2, Type: "float", RedOp: "sum", Root: -1, OutOfPlace: &Measure{}, InPlace: &Measure{}}}})
	for name, row := range map[string]struct {
		text string
		rows int
		want []string
	}{
		"whole":   {one, 1, nil},
		"nothing": {"", 0, []string{"there is no table of nccl-tests"}},
		"another": {one + one, 2, []string{"line 16 begins another table: several programs wrote here, or nccl-tests was built without MPI and each process measured for itself"}},
		"failed": {one[:strings.Index(one, "# Avg")] + "p5-1: Test NCCL failure common.cu:1 'unhandled cuda error'", 1, []string{"line 8: p5-1: Test NCCL failure common.cu:1 'unhandled cuda error'",
			"the end is missing: no line says the average bus bandwidth"}},
		"not_a_file":  {"{\"version\":3", 0, []string{"the JSON is broken: unexpected end of JSON input", "the file's version is 0; 3 is known", "the end is missing", "there are no rows"}},
		"other_words": {"srun: error: Unable to allocate resources: Invalid qos\n", 0, []string{"there is no table of nccl-tests"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ReadCollective([]byte(row.text))
			if diff := cmp.Diff(row.want, got.Problems); diff != "" || len(got.Rows) != row.rows {
				t.Errorf("%d rows (-want +got):\n%s\n%s", len(got.Rows), diff, row.text)
			}
		})
	}
}

func FuzzReadCollective(f *testing.F) {
	seed(f, "nccl-tests/*.*")
	f.Fuzz(func(t *testing.T, text []byte) {
		c := ReadCollective(text)
		sound(t, c, c.Reading)
		Table(c)
	})
}
