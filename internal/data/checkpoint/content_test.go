package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// reads is what was read of files in memory.
type reads struct {
	texts map[string][]byte
	later time.Duration // they changed
	spans []checkpoint.Span
	bytes int64
}

func (r *reads) read(spans []checkpoint.Span) ([][]byte, error) {
	r.spans = append(r.spans, spans...)
	all := make([][]byte, len(spans))
	for i, s := range spans {
		r.bytes += s.Bytes
		if text, ok := r.texts[s.Path]; ok {
			b := make([]byte, s.Bytes)
			n, _ := io.NewSectionReader(bytes.NewReader(text), s.From, s.Bytes).Read(b)
			all[i] = b[:n]
		}
	}
	return all, nil
}

// looked judges files in memory.
func looked(t testing.TB, r *reads, s checkpoint.Set, m *checkpoint.Memory) checkpoint.Verdict {
	t.Helper()
	s.Files = nil
	for p, text := range r.texts {
		s.Files = append(s.Files, checkpoint.File{Path: p, SizeBytes: int64(len(text)), Changed: start.Add(r.later)})
	}
	slices.SortFunc(s.Files, func(a, b checkpoint.File) int { return strings.Compare(a.Path, b.Path) })
	s, err := checkpoint.Look(s, checkpoint.Stored, m, r.read)
	if err != nil {
		t.Fatal(err)
	}
	return checkpoint.Stored(s)
}

// TestCuts has files as libraries write them, whole and cut off, and what the libraries say of these: what can be read is not
// refused, and what is called checked can be read.
func TestCuts(t *testing.T) {
	unknown := []string{"legacy.pt", "objects.npy"} // they do not say how long they are
	whole := map[string]bool{}
	for line := range strings.Lines(string(read(t, "contents/cuts.tsv"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name, readable string
		var cut, zeros int
		if _, err := fmt.Sscan(line, &name, &cut, &zeros, &readable); err != nil {
			t.Fatal(err)
		}
		text := read(t, filepath.Join("contents", name))
		r := &reads{texts: map[string][]byte{name: append(bytes.Clone(text[:cut]), make([]byte, zeros)...)}}
		v := looked(t, r, checkpoint.Set{Dir: "step-1"}, nil)
		row := fmt.Sprintf("%s, %d bytes and %d zeros", name, cut, zeros)
		switch {
		case readable == "yes" && v.Torn != "":
			t.Errorf("%s: it can be read, and is refused: %s", row, v.Torn)
		case slices.Contains(unknown, name) && v.Checked > 0:
			t.Errorf("%s: it counts as checked, which cannot be known", row)
		case zeros > 0 && strings.HasSuffix(name, ".npy"): // its length is right, and nothing else is looked at
		case readable == "no" && v.Torn == "" && !slices.Contains(unknown, name):
			t.Errorf("%s: it cannot be read, and nothing is said", row)
		}
		if cut == len(text) && zeros == 0 {
			whole[name] = v.Checked == 1
		}
		if len(r.spans) > 3 || r.bytes > 70<<10 {
			t.Errorf("%s: %d reads of %d bytes", row, len(r.spans), r.bytes)
		}
	}
	for name, checked := range whole {
		if checked == slices.Contains(unknown, name) {
			t.Errorf("%s, whole: checked is %v", name, checked)
		}
	}
	if len(whole) != 10 {
		t.Errorf("there are %d files", len(whole))
	}
}

// safetensors makes a file with a header of at least so many bytes.
func safetensors(data, header int) []byte {
	text := fmt.Sprintf(`{"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, data, data)
	text += strings.Repeat(" ", max(0, header-len(text)))
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), []byte(text), make([]byte, data))
}

// array makes a file of numpy with so many bytes of data.
func array(version byte, kind, shape string, data int) string {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", kind, shape)
	digits := binary.LittleEndian.AppendUint16(nil, uint16(len(header)))
	if version > 1 {
		digits = binary.LittleEndian.AppendUint32(nil, uint32(len(header)))
	}
	return "\x93NUMPY" + string([]byte{version, 0}) + string(digits) + header + strings.Repeat("\x01", data)
}

// TestCost reads little of a large file.
func TestCost(t *testing.T) {
	for name, text := range map[string][]byte{"a.safetensors": safetensors(1<<20, 0), "a.npy": []byte(array(1, "|u1", "(1048576,)", 1<<20)), "a.pt": bytes.Repeat([]byte("w"), 1<<20)} {
		r := &reads{texts: map[string][]byte{name: text}}
		if v := looked(t, r, checkpoint.Set{Dir: "step-1"}, nil); v.Torn != "" || r.bytes > 64<<10 || len(r.spans) > 2 {
			t.Errorf("%s: %d reads of %d bytes, %+v", name, len(r.spans), r.bytes, v)
		}
	}
}

// TestTornByNames reads no file of a checkpoint of which another one is missing.
func TestTornByNames(t *testing.T) {
	r := &reads{texts: map[string][]byte{"model-00001-of-00002.safetensors": safetensors(9, 0), "optimizer.pt": read(t, "contents/torch.pt")}}
	if v := looked(t, r, checkpoint.Set{Dir: "step-1"}, nil); v.Torn == "" || len(r.spans) > 0 {
		t.Errorf("%d reads, %+v", len(r.spans), v)
	}
}

// archive makes the end of a large zip archive: the record at an offset, whose place another one names, and the list that it names.
func archive(record string, at, listed, begins uint64) string {
	long := slices.Concat([]byte(record), make([]byte, 36), binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, listed), begins))
	locator := slices.Concat([]byte("PK\x06\x07"), make([]byte, 4), binary.LittleEndian.AppendUint64(nil, at), make([]byte, 4))
	return "PK\x03\x04" + string(slices.Concat(long, locator, []byte("PK\x05\x06"), make([]byte, 18)))
}

// TestArchiveEnds has ends that no program writes: they lead nowhere.
func TestArchiveEnds(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		checked int
	}{
		"whole":                        {archive("PK\x06\x06", 4, 3, 1), 1},
		"empty":                        {"PK\x05\x06" + strings.Repeat("\x00", 18), 1},
		"record_of_another_form":       {archive("PK\x06\x05", 4, 3, 1), 0},
		"record_before_the_file":       {archive("PK\x06\x06", 1<<63, 3, 1), 0},
		"record_behind_the_file":       {archive("PK\x06\x06", 1<<40, 3, 1), 0},
		"record_over_the_end":          {archive("PK\x06\x06", 5, 3, 1), 0},
		"record_at_the_last_byte":      {archive("PK\x06\x06", 101, 3, 1), 0},
		"list_behind_the_record":       {archive("PK\x06\x06", 4, 1<<64-1, 5), 0},
		"list_that_ends_before_it":     {archive("PK\x06\x06", 4, 2, 1), 0},
		"list_that_ends_in_the_record": {archive("PK\x06\x06", 4, 4, 1), 0},
	} {
		v := looked(t, &reads{texts: map[string][]byte{"a.pt": []byte(c.text)}}, checkpoint.Set{Dir: "step-1"}, nil)
		if v.Checked != c.checked || (v.Torn == "") != (c.checked == 1) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestContents(t *testing.T) {
	index := func(bytes int) string {
		return fmt.Sprintf(`{"metadata":{"total_size":%d},"weight_map":{"a":"model-1-of-2.bin","b":"model-2-of-2.bin"}}`, bytes)
	}
	sharded := func(name string, total int, second string) map[string]string {
		return map[string]string{"model-1-of-2.bin": "0123456789", "model-2-of-2.bin": second, name: index(total)}
	}
	header := func(n uint64, rest string) string { return string(binary.LittleEndian.AppendUint64(nil, n)) + rest }
	torch := string(read(t, "contents/torch.pt"))
	archives := sharded("pytorch_model.bin.index.json", 1<<20, torch)
	archives["model-1-of-2.bin"] = torch
	cut := sharded("pytorch_model.bin.index.json", 1<<20, torch)
	cut["model-1-of-2.bin"] = torch[:2000]
	for _, c := range []struct {
		name    string
		files   map[string]string
		torn    string
		checked int
	}{
		{"empty_weights", map[string]string{"model.safetensors": ""}, "model.safetensors has 0 bytes", 0},
		{"empty_gguf", map[string]string{"weights.gguf": ""}, "weights.gguf has 0 bytes", 0},
		{"empty_state", map[string]string{"model.safetensors": string(safetensors(9, 0)), "optimizer.pt": "", "scheduler.pt": "s", "rng_state.pth": "r", "training_args.bin": "a", "trainer_state.json": "{}"}, "optimizer.pt has 0 bytes", 0},
		{"empty_beside_a_marker", map[string]string{"rank_0.pt": "", "_SUCCESS": ""}, "rank_0.pt has 0 bytes", 0},
		{"empty_below", map[string]string{"sub/rank_0.pt": ""}, "sub/rank_0.pt has 0 bytes", 0},
		{"empty_metadata", map[string]string{".metadata": "", "__0_0.distcp": "w"}, ".metadata has 0 bytes", 0},
		{"empty_files_of_no_form", map[string]string{"model": "w", "py.typed": "", "COMPLETE": "", "notes.md": ""}, "", 0},
		{"metadata_that_names_nothing", map[string]string{".metadata": "\x80\x02]q\x00.", "__0_0.distcp": "w"}, ".metadata names none of its files", 0},
		{"metadata_of_nothing", map[string]string{".metadata": "\x80\x02]q\x00.", "__0_0.distcp": ""}, "", 0},
		{"a_rank_with_nothing_to_write", map[string]string{".metadata": "__0_0.distcp", "__0_0.distcp": "w", "__1_0.distcp": ""}, "", 0},
		{"unknown_form", map[string]string{"model.bin": "weights", "rank_0.pt": "weights"}, "", 0},
		{"short_header", map[string]string{"m.safetensors": "0123456"}, "m.safetensors: it has 7 bytes, which is less than a header", 0},
		{"no_header", map[string]string{"m.safetensors": "weights of another form"}, "m.safetensors: it does not begin with a header", 0},
		{"header_cut_off", map[string]string{"m.safetensors": header(99, "{")}, "m.safetensors: it has 9 bytes, and its header alone 107", 0},
		{"header_of_no_json", map[string]string{"m.safetensors": header(3, "abc")}, "m.safetensors: its header is not JSON", 0},
		{"tensor_before_the_first_byte", map[string]string{"m.safetensors": header(30, `{"w":{"data_offsets":[-8,-4]}}`)}, "m.safetensors: its header has a tensor from byte -8 to -4", 0},
		{"tensor_that_ends_before_it_begins", map[string]string{"m.safetensors": header(55, `{"a":{"data_offsets":[0,4]},"w":{"data_offsets":[4,2]}}`) + "data"}, "m.safetensors: its header has a tensor from byte 4 to 2", 0},
		{"header_of_the_last_size", map[string]string{"m.safetensors": header(100_000_000, "{}")}, "m.safetensors: it has 10 bytes, and its header alone 100000008", 0},
		{"header_over_the_last_size", map[string]string{"m.safetensors": header(100_000_001, "{}")}, "m.safetensors: it does not begin with a header", 0},
		{"long_header", map[string]string{"m.safetensors": string(safetensors(9, 1<<20))}, "", 1},
		{"long_header_cut_off", map[string]string{"m.safetensors": string(safetensors(9, 1<<20)[:1<<20+9])}, "m.safetensors: it has 1048585 bytes, and its header says 1048593", 0},
		{"header_that_is_not_read", map[string]string{"m.safetensors": string(safetensors(9, 17<<20))}, "", 0},
		{"shards_of_unknown_form", sharded("pytorch_model.bin.index.json", 20, "0123456789"), "", 0},
		{"shards_that_are_less", sharded("pytorch_model.bin.index.json", 20, "012345678"), "the shards of pytorch_model.bin.index.json have 19 bytes, and it says 20", 0},
		{"shards_that_say_more_than_their_index", archives, "", 2},
		{"shard_that_says_more_than_the_index", cut, "model-1-of-2.bin: it begins like a zip archive, and has no end", 0},
		{"index_cut_off", map[string]string{"pytorch_model.bin": "w", "model.safetensors.index.json": `{"metadata": {`}, "model.safetensors.index.json: it is JSON without an end", 0},
		{"state_cut_off", map[string]string{"model.safetensors": string(safetensors(9, 0)), "trainer_state.json": `{"log_history": [{"loss": NaN`}, "trainer_state.json: it is JSON without an end", 0},
		{"state_with_nan", map[string]string{"model.safetensors": string(safetensors(9, 0)), "trainer_state.json": "{\"loss\": NaN}\n"}, "", 1},
		{"megatron_cut_off", map[string]string{"common.pt": "c", ".metadata": "m", "metadata.json": `{"sharded_`}, "metadata.json: it is JSON without an end", 0},
		{"no_array", map[string]string{"a.npy": "weights of another form"}, "", 0},
		{"array_of_version_2", map[string]string{"a.npy": array(2, "<f4", "(2, 3)", 24)}, "", 1},
		{"array_of_version_2_cut_off", map[string]string{"a.npy": array(2, "<f4", "(2, 3)", 23)}, "a.npy: it has 94 bytes, and its header says 95", 0},
		{"array_with_another_behind_it", map[string]string{"a.npy": array(1, "<f4", "(2, 3)", 99)}, "", 0},
		{"array_of_no_elements", map[string]string{"a.npy": array(1, "<f4", "(0, 3)", 0)}, "", 1},
		{"array_of_one", map[string]string{"a.npy": array(1, "|b1", "()", 1)}, "", 1},
		{"array_larger_than_numbers_are", map[string]string{"a.npy": array(1, "<f8", "(2305844108725321728,)", 9)}, "", 0},
		{"state_of_blanks", map[string]string{"model.safetensors": string(safetensors(9, 0)), "trainer_state.json": "\n"}, "trainer_state.json: it is JSON without an end", 0},
		{"state_of_zeros", map[string]string{"model.safetensors": string(safetensors(9, 0)), "trainer_state.json": "\x00\x00"}, "trainer_state.json: it is JSON without an end", 0},
		{"config_of_no_json", map[string]string{"model.safetensors": string(safetensors(9, 0)), "config.json": "xxxx"}, "", 1},
		{"metadata_that_is_a_list", map[string]string{"model.safetensors": string(safetensors(9, 0)), "metadata.json": "[{\"step\": 100}]\n"}, "", 1},
		{"metadata_that_is_a_number", map[string]string{"model.safetensors": string(safetensors(9, 0)), "metadata.json": "100"}, "", 1},
		{"list_cut_off", map[string]string{"model.safetensors": string(safetensors(9, 0)), "metadata.json": "[{\"step\": 100}"}, "metadata.json: it is JSON without an end", 0},
		{"tokens_null", map[string]string{"model.safetensors": string(safetensors(9, 0)), "special_tokens_map.json": "null"}, "", 1},
		{"long_state_cut_off", map[string]string{"model.safetensors": string(safetensors(9, 0)), "trainer_state.json": "{\"a\": [" + strings.Repeat("1, ", 4000)}, "trainer_state.json: it is JSON without an end", 0},
		{"long_text", map[string]string{"model.safetensors": string(safetensors(9, 0)), "config.json": strings.Repeat("x", 9000)}, "", 1},
		{"lines_of_json", map[string]string{"model.safetensors": string(safetensors(9, 0)), "log.json": "[1,\n"}, "", 1},
		{"megatron_without_metadata", map[string]string{"common.pt": "c", "metadata.json": `{"sharded_backend": "torch_dist"}`}, ".metadata is not there", 0},
		{"megatron_zarr", map[string]string{"common.pt": "c", "metadata.json": `{"sharded_backend": "zarr", "sharded_backend_version": 1}`, "w/.zarray": "{}", "w/0.0": "w"}, "", 0},
		{"manifest", map[string]string{"model.pt": "0123", "manifest.json": `{"files": {"model.pt": {"bytes": 4}}}`}, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &reads{texts: map[string][]byte{}}
			for p, text := range c.files {
				r.texts[p] = []byte(text)
			}
			if v := looked(t, r, checkpoint.Set{Dir: "step-1"}, nil); v.Torn != c.torn || c.torn == "" && v.Checked != c.checked {
				t.Errorf("got torn %q, checked %d; want %q, %d", v.Torn, v.Checked, c.torn, c.checked)
			}
		})
	}
}

// TestSingle has files that are a checkpoint by themselves.
func TestSingle(t *testing.T) {
	torch := read(t, "contents/torch.pt")
	for _, c := range []struct {
		name       string
		text       []byte
		unfinished bool
		want       checkpoint.Verdict
	}{
		{"whole", torch, false, checkpoint.Verdict{Layout: "checkpoint file", Checked: 1}},
		{"of_another_form", []byte("weights"), false, checkpoint.Verdict{Layout: "checkpoint file"}},
		{"empty", nil, false, checkpoint.Verdict{Layout: "checkpoint file", Torn: "step=1.ckpt has 0 bytes"}},
		{"cut_off", torch[:2000], false, checkpoint.Verdict{Layout: "checkpoint file", Torn: "step=1.ckpt: it begins like a zip archive, and has no end"}},
		{"unfinished", torch, true, checkpoint.Verdict{Layout: "NeMo", Torn: "step=1-unfinished says that it is being written"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &reads{texts: map[string][]byte{"step=1.ckpt": c.text}}
			if diff := cmp.Diff(c.want, looked(t, r, checkpoint.Set{Dir: "step=1.ckpt", Single: true, Unfinished: c.unfinished}, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnread has files that are gone or became shorter since they were listed: that says nothing of them.
func TestUnread(t *testing.T) {
	for name, text := range map[string][]byte{"gone": nil, "shorter": []byte("PK")} {
		s := checkpoint.Set{Dir: "step-1", Files: []checkpoint.File{{Path: "rank_0.pt", SizeBytes: 900}, {Path: "m.safetensors", SizeBytes: 900}}}
		s, err := checkpoint.Look(s, checkpoint.Stored, nil, func(spans []checkpoint.Span) ([][]byte, error) {
			all := make([][]byte, len(spans))
			for i := range all {
				all[i] = text
			}
			return all, nil
		})
		if v := checkpoint.Stored(s); err != nil || v.Torn != "" || v.Checked != 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	s := checkpoint.Set{Dir: "step-1", Files: []checkpoint.File{{Path: "rank_0.pt", SizeBytes: 900}}}
	calls := 0
	for fails := 1; fails <= 2; fails++ {
		if _, err := checkpoint.Look(s, checkpoint.Stored, nil, func(spans []checkpoint.Span) ([][]byte, error) {
			if calls++; calls >= fails {
				return nil, io.ErrClosedPipe
			}
			return make([][]byte, len(spans)), nil
		}); err == nil {
			t.Errorf("the read %d fails, and nothing is said", fails)
		}
		calls = 0
	}
}

// TestMemory reads a file once until it changes or nothing asks for it.
func TestMemory(t *testing.T) {
	m := &checkpoint.Memory{}
	r := &reads{texts: map[string][]byte{"a.pt": read(t, "contents/torch.pt")}}
	look := func(dir string, want int) {
		t.Helper()
		r.spans = nil
		if v := looked(t, r, checkpoint.Set{Dir: dir}, m); v.Checked != 1 || len(r.spans) != want {
			t.Errorf("of %s there were %d reads, want %d: %+v", dir, len(r.spans), want, v)
		}
	}
	look("step-1", 1)
	look("step-1", 0)
	m.Sweep()
	look("step-1", 0)
	look("step-2", 1)
	m.Sweep()
	look("step-1", 0)
	m.Sweep()
	look("step-1", 0)
	look("step-2", 1)
	r.texts["a.pt"] = append(r.texts["a.pt"], 0)
	look("step-1", 1)

	r.later = time.Second
	look("step-1", 1)

	whole := r.texts["a.pt"]
	r.texts["a.pt"] = append(whole[:1000:1000], make([]byte, len(whole)-1000)...)
	if v := looked(t, r, checkpoint.Set{Dir: "step-3"}, m); v.Torn == "" {
		t.Errorf("of a torn one: %+v", v)
	}
	r.texts["a.pt"] = whole // which arrives without another size or time
	look("step-3", 1)
}

// TestWritten_short has lengths that .metadata gives in the directory where a checkpoint is written, too.
func TestWritten_short(t *testing.T) {
	files := []checkpoint.File{{Path: ".metadata", SizeBytes: 10562}, {Path: "__0_0.distcp", SizeBytes: 19308}, {Path: "__1_0.distcp", SizeBytes: 31289}, {Path: "__2_0.distcp", SizeBytes: 30092}}
	r := &reads{texts: map[string][]byte{".metadata": read(t, "dcp.metadata")}}
	look := func() checkpoint.Verdict {
		s, err := checkpoint.Look(checkpoint.Set{Dir: "step-1", Files: files}, checkpoint.Written, nil, r.read)
		if err != nil {
			t.Fatal(err)
		}
		return checkpoint.Written(s)
	}
	if v := look(); v.Torn != "" || v.Checked != 3 {
		t.Errorf("whole: %+v", v)
	}
	files[2].SizeBytes = 31288
	if v := look(); v.Torn != "__1_0.distcp has 31288 bytes, and .metadata says 31289" {
		t.Errorf("short: %+v", v)
	}
}
