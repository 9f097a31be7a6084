package tensorboard_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/tensorboard"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

var begin = time.Date(2026, 11, 23, 14, 0, 0, 123456000, time.UTC)

func events(n int) []tensorboard.Event {
	var all []tensorboard.Event
	for i := range n {
		all = append(all, tensorboard.Event{Time: begin.Add(time.Duration(i) * time.Second), Step: int64(i), Scalars: []tensorboard.Scalar{{Tag: "train/loss", Value: float64(i)}}})
	}
	return all
}

// Whatever part of a file is there, a writer that goes on makes the same file as one that was never killed.
func TestGoOnFromEveryByte(t *testing.T) {
	const restart = 4
	all := events(8)
	var f tensorboard.File
	var want []byte
	ends := []int64{0} // of each event
	for i, e := range all {
		if i == restart {
			f.Restart()
			e.Step = 2
			all[i] = e
		}
		want = f.Append(want, e)
		ends = append(ends, f.Size)
	}
	for cut := range len(want) + 1 {
		got, err := tensorboard.Read(bytes.NewReader(want[:cut]))
		if err != nil || got.Size > int64(cut) || got.Size < ends[got.Events] {
			t.Fatalf("cut at %d: %+v, %v", cut, got, err)
		}
		if n := got.Events; n > 0 && got.Step != all[n-1].Step {
			t.Fatalf("cut at %d: step %d", cut, got.Step)
		}
		file := bytes.Clone(want[:got.Size])
		for i := int(got.Events); i < len(all); i++ {
			if i == restart && int64(len(file)) == ends[i] {
				got.Restart()
			}
			file = got.Append(file, all[i])
		}
		if !bytes.Equal(file, want) {
			t.Fatalf("cut at %d: another file", cut)
		}
	}
}

// A file that is kept as JSON goes on as if it had not been.
func TestKept(t *testing.T) {
	var f, kept tensorboard.File
	var want, got []byte
	for i, e := range events(6) {
		if i == 3 {
			f.Restart()
			kept.Restart()
		}
		text, err := json.Marshal(kept)
		if err == nil {
			kept = tensorboard.File{}
			err = json.Unmarshal(text, &kept)
		}
		if err != nil {
			t.Fatal(err)
		}
		want, got = f.Append(want, e), kept.Append(got, e)
	}
	if !bytes.Equal(got, want) || kept != f {
		t.Errorf("got %+v, want %+v", kept, f)
	}
	if read, err := tensorboard.Read(bytes.NewReader(got)); err != nil || read != f {
		t.Errorf("read %+v, %v; want %+v", read, err, f)
	}
}

func TestNoChangeOfAByteIsBelieved(t *testing.T) {
	var f tensorboard.File
	var data []byte
	var ends []int64
	for _, e := range events(3) {
		data = f.Append(data, e)
		ends = append(ends, f.Size)
	}
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 0x40
		got, err := tensorboard.Read(bytes.NewReader(changed))
		if err != nil || got.Size > int64(i) {
			t.Errorf("byte %d: %+v, %v; events end at %v", i, got, err, ends)
		}
	}
}

func TestReadSaysWhatCannotBeRead(t *testing.T) {
	broken := errors.New("broken")
	var f tensorboard.File
	data := f.Append(nil, events(1)[0])
	if _, err := tensorboard.Read(io.MultiReader(bytes.NewReader(data[:20]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestName(t *testing.T) {
	if got, want := tensorboard.Name(begin, "head/node"), "events.out.tfevents.1795442400.head-node.muster"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestScalars(t *testing.T) {
	s := trainlog.Sample{Step: 3, Loss: trainlog.Some(math.Inf(1)), TFLOPsPerGPU: trainlog.Some(400), Epoch: trainlog.Some(0)}
	want := []tensorboard.Scalar{{Tag: "train/loss", Value: math.Inf(1)}, {Tag: "train/epoch"}, {Tag: "speed/tflops_per_gpu", Value: 400}}
	if diff := cmp.Diff(want, tensorboard.Scalars(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s = trainlog.Sample{Eval: true, Loss: trainlog.Some(2)}
	if diff := cmp.Diff([]tensorboard.Scalar{{Tag: "eval/loss", Value: 2}}, tensorboard.Scalars(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzRead(f *testing.F) {
	var file tensorboard.File
	var data []byte
	for _, e := range events(3) {
		data = file.Append(data, e)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := tensorboard.Read(bytes.NewReader(data))
		if err != nil || got.Size > int64(len(data)) || got.Events < 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		again, err := tensorboard.Read(bytes.NewReader(data[:got.Size]))
		if err != nil || again != got {
			t.Errorf("%+v, then %+v, %v", got, again, err)
		}
	})
}

// BenchmarkAppend makes the records of samples of the guides' line: three scalars.
func BenchmarkAppend(b *testing.B) {
	var f tensorboard.File
	var buffer []byte
	e := tensorboard.Event{Time: begin, Scalars: tensorboard.Scalars(trainlog.Sample{
		Loss: trainlog.Some(7.1), SamplesPerSecond: trainlog.Some(1.2), LearningRate: trainlog.Some(3e-5),
	})}
	b.ReportAllocs()
	for b.Loop() {
		e.Step++
		buffer = f.Append(buffer[:0], e)
	}
	b.ReportMetric(float64(f.Size)/float64(f.Events), "bytes/sample")
}
