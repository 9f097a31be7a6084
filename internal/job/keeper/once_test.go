package keeper

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/errand"
)

// disk is a world whose logs and curves are files, read and written by a process of their own.
type disk struct {
	*world
	crew *errand.Crew
}

func (d disk) Read(ctx context.Context, u errand.User, r errand.Reading) (errand.Chunk, error) {
	defer d.call()()
	return d.crew.Read(ctx, u, r)
}

func (d disk) Extend(ctx context.Context, u errand.User, e errand.Extension) error {
	defer d.call()()
	return d.crew.Extend(ctx, u, e)
}

// writes appends to the job's log, or begins it anew.
func (d disk) writes(text string, flags int) {
	f, err := os.OpenFile(d.job.StdOut, os.O_WRONLY|os.O_CREATE|flags, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil || f.Close() != nil {
		d.t.Fatal(err)
	}
}

// loop is what a training prints of a step: in two parts, between which time may go by.
type loop func(step int) (first, then string)

func plainLoop(i int) (first, then string) {
	return fmt.Sprintf("0: Batch %d Loss: %d.5, ", i, i), "Speed: 2.0 samples/sec, lr: 0.001\n"
}

// trainerLoop prints as Hugging Face's Trainer does: the bar behind a line says its step.
func trainerLoop(i int) (first, then string) {
	bar := func(i int) string { return fmt.Sprintf("\r %d%%|#  | %d/64 [00:00<00:01, 2.00it/s]\r", i, i) }
	line := fmt.Sprintf("\n{'loss': '%d.5', 'grad_norm': '2.5', 'learning_rate': '4e-05', 'epoch': '0.4'}\n", i)
	if i%10 == 1 {
		begin := fmt.Sprintf("\r %d%%|#  | %d/64 [00:00<?, ?it/s]\r", i-1, i-1)
		return begin + line, bar(i)
	}
	return line, bar(i)
}

// says prints steps, and has a round go by within the last of them.
func (d disk) says(say loop, from, to, flags int, round func()) {
	text, then := "", ""
	for i := from; i <= to; i++ {
		first, rest := say(i)
		text, then = text+then+first, rest
	}
	d.writes(text, flags)
	round()
	d.writes(then, os.O_APPEND)
}

// trains has a job print 20 steps, lose a node, print two more while it ends, go on from step 10 and
// print up to step 30. Its keeper dies at a call.
func (d disk) trains(say loop, again int, deadly int) (over bool) {
	k := d.keeper()
	round := func() {
		if !d.round(k) {
			k = d.keeper()
			d.round(k)
		}
	}
	round()
	d.deadly, d.calls = deadly, 0
	for i := range 4 {
		d.says(say, 5*i+1, 5*i+5, os.O_APPEND, round)
	}
	d.loses(1)
	d.job.State, d.job.Again = "COMPLETING", true // its processes are told to end
	round()
	d.says(say, 21, 22, os.O_APPEND, func() {})
	round()
	d.job.State, d.job.Again = "PENDING", false
	for i := 0; d.job.State != "RUNNING"; i++ {
		if round(); k.records[7].Act == nil {
			d.schedule()
		}
		if i > 10 {
			d.t.Fatalf("it is %s (%s)", d.job.State, d.job.Reason)
		}
	}
	for i := range 4 {
		flags := os.O_APPEND
		if i == 0 {
			flags = again
		}
		d.says(say, 5*i+11, 5*i+15, flags, round)
	}
	d.fails("COMPLETED", 0)
	round()
	round()
	return d.calls < deadly
}

// TestEachStepOnce: whatever a keeper was killed at, the curves have each step that the job has printed
// once, as TensorBoard reads them, and the record has them in their order.
func TestEachStepOnce(t *testing.T) {
	crew := Crew(func(errand.User) []string { return []string{"env", "MUSTER_TEST_ERRANDS=1"} }, os.Args[0])
	t.Cleanup(crew.Close)
	for name, row := range map[string]struct {
		say   loop
		again int
		save  time.Duration
	}{
		"lines":      {plainLoop, os.O_APPEND, time.Nanosecond},
		"bars":       {trainerLoop, os.O_APPEND, time.Hour},
		"begun_anew": {trainerLoop, os.O_TRUNC, time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for deadly := 0; ; deadly++ {
				w := newWorld(t)
				w.save = row.save
				w.job.StartTime = time.Now().Truncate(time.Second)
				w.job.StdOut = filepath.Join(t.TempDir(), "7.out")
				w.job.StdErr = w.job.StdOut
				d := disk{w, crew}
				w.hands = d
				over := d.trains(row.say, row.again, deadly)
				dir := filepath.Join(filepath.Dir(w.job.StdOut), "tensorboard", "llama-7")
				got := shownSteps(t, dir)
				var want []string
				for i := 1; i <= 30; i++ {
					want = append(want, fmt.Sprintf("%d: %d.5", i, i))
				}
				if !slices.Equal(got, want) {
					t.Fatalf("killed at call %d: %s\nwant %s", deadly, strings.Join(got, ", "), strings.Join(want, ", "))
				}
				if over && deadly > 0 {
					return
				}
			}
		})
	}
}

// shownSteps are the losses of a directory of event files, as TensorBoard reads them: in the order of
// names, and where a session starts that is not the first, what there is of its step and later ones
// goes.
func shownSteps(t *testing.T, dir string) (steps []string) {
	t.Helper()
	type point struct {
		step int64
		loss float32
	}
	var all []point
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	sessions := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for len(text) >= 16 {
			size := binary.LittleEndian.Uint64(text)
			e := eventOf(text[12 : 12+size])
			text = text[16+size:]
			if e.start {
				if sessions++; sessions > 1 {
					all = slices.DeleteFunc(all, func(p point) bool { return p.step >= e.step })
				}
			}
			if e.hasLoss {
				all = append(all, point{e.step, e.loss})
			}
		}
		if len(text) > 0 {
			t.Errorf("%s has %d bytes more", path, len(text))
		}
	}
	for _, p := range all {
		steps = append(steps, fmt.Sprintf("%d: %g", p.step, p.loss))
	}
	return steps
}

// event is what the test wants of one of TensorBoard's.
type event struct {
	step           int64
	start, hasLoss bool
	loss           float32
}

// eventOf reads the fields of an event: tensorboard/compat/proto/event.proto and summary.proto.
func eventOf(data []byte) (e event) {
	fields(data, func(number int, value uint64, inner []byte) {
		switch number {
		case 2:
			e.step = int64(value)
		case 7:
			e.start = true
		case 5:
			fields(inner, func(_ int, _ uint64, scalar []byte) {
				tag, loss := "", float32(0)
				fields(scalar, func(number int, value uint64, inner []byte) {
					switch number {
					case 1:
						tag = string(inner)
					case 2:
						loss = math.Float32frombits(uint32(value))
					}
				})
				if tag == "train/loss" {
					e.hasLoss, e.loss = true, loss
				}
			})
		}
	})
	return e
}

// fields are those of a message of protocol buffers.
func fields(data []byte, each func(number int, value uint64, inner []byte)) {
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		data = data[n:]
		switch number := int(key >> 3); key & 7 {
		case 0:
			value, n := binary.Uvarint(data)
			each(number, value, nil)
			data = data[n:]
		case 1:
			each(number, binary.LittleEndian.Uint64(data), nil)
			data = data[8:]
		case 2:
			size, n := binary.Uvarint(data)
			each(number, 0, data[n:n+int(size)])
			data = data[n+int(size):]
		case 5:
			each(number, uint64(binary.LittleEndian.Uint32(data)), nil)
			data = data[4:]
		}
	}
}
