package manifest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

const (
	sha = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	crc = "AAAAAAAAAAA="
)

func record(path string) manifest.Record {
	return manifest.Record{Path: path, SizeBytes: 4, ModTime: 1_700_000_000_123_456_789, SHA256: sha, CRC64NVME: crc, Version: `"098f6bcd"`, Mode: 0o644}
}

func several() []manifest.Record {
	large := record("models/llama/0001.safetensors")
	large.SizeBytes, large.PartBytes, large.Parts = 100, 64, []string{crc, "Sd/9x0+zWvQ="}
	odd := record("odd \"names\"\\ \t\x7f\u2028 ü")
	odd.ModTime, odd.CRC64NVME, odd.Version = -1, "", ""
	zero := record("zero")
	zero.SizeBytes, zero.Mode = 0, 0
	return []manifest.Record{record("a"), record("a-b"), record("aa/b"), large, odd, zero}
}

func write(t testing.TB, records []manifest.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	w := manifest.NewWriter(&out)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(from []byte) ([]manifest.Record, error) {
	var records []manifest.Record
	for r, err := range manifest.NewReader(bytes.NewReader(from)).All() {
		if err != nil {
			return records, err
		}
		records = append(records, r)
	}
	return records, nil
}

func zip(lines string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	io.WriteString(w, lines)
	w.Close()
	return out.Bytes()
}

func unzip(t testing.TB, zipped []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, want := range [][]manifest.Record{nil, several()} {
		got, err := read(write(t, want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestFormat(t *testing.T) {
	golden.Check(t, "manifest.jsonl", unzip(t, write(t, several())))
	head := manifest.Head{State: manifest.Whole, Manifest: manifest.Name("01JD"), ManifestSHA256: sha, Files: 6, Bytes: 116, Committed: time.Unix(1_700_000_000, 0)}
	golden.Check(t, "dataset.json", string(head.Encode()))
}

func TestReadTakesAnyJSONOfTheFormat(t *testing.T) {
	line := ` { "mode" : 420, "more": [1, {}], "path": "\u0061\/b", "size": 4, "sha256": "` + sha + `" } `
	got, err := read(zip(line + "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []manifest.Record{{Path: "a/b", SizeBytes: 4, SHA256: sha, Mode: 0o644}}; cmp.Diff(want, got) != "" {
		t.Errorf("got %v", got)
	}
}

func TestPathsThatLeadElsewhere(t *testing.T) {
	for _, row := range []struct{ path, want string }{
		{"", "the path is empty"},
		{"/etc/passwd", "a part of the path is empty"},
		{"a//b", "a part of the path is empty"},
		{"a/", "a part of the path is empty"},
		{"..", "a part of the path is .."},
		{"a/../b", "a part of the path is .."},
		{"./a", "a part of the path is ."},
		{"a\x00b", "the path has a zero byte"},
		{"a\xff", "the path is no UTF-8"},
		{".muster", ".muster is the dataset's own"},
		{".muster/dataset.json", ".muster is the dataset's own"},
		{strings.Repeat("x", 1025), "the path has 1025 bytes, and S3 takes 1024 at the most"},
		{"a/.muster-0a.tmp", ".muster-0a.tmp is a name of what is not fetched yet"},
		{".muster-restore-x.tmp/f", ".muster-restore-x.tmp is a name of what is not fetched yet"},
		{"a/.muster/b", ""},
		{".musterb", ""},
		{"...", ""},
		{`C:\a`, ""},
	} {
		got := ""
		if err := manifest.CheckPath(row.path); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%q: got %q, want %q", row.path, got, row.want)
		}
		if err := manifest.NewWriter(io.Discard).Write(record(row.path)); (err != nil) != (row.want != "") {
			t.Errorf("%q: Write says %v", row.path, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	good := unzip(t, write(t, []manifest.Record{record("b")}))
	with := func(old, new string) []byte { return zip(strings.Replace(good, old, new, 1)) }
	for _, row := range []struct {
		name, want string
		text       []byte
	}{
		{"nothing", "unexpected EOF", nil},
		{"no_gzip", "gzip: invalid header", []byte(good)},
		{"cut_off", "unexpected EOF", zip(good)[:40]},
		{"cut_off_at_the_checksum", "unexpected EOF", zip(good)[:len(zip(good))-8]},
		{"no_json", "invalid character", zip("hello\n")},
		{"empty_line", "it is empty", zip("\n")},
		{"long_line", "token too long", zip(strings.Repeat(" ", 2<<20))},
		{"no_utf8", "the line is no UTF-8", with(`"b"`, "\"\xff\"")},
		{"twice", `"b" comes after "b"`, zip(good + good)},
		{"out_of_order", `"a" comes after "b"`, zip(good + strings.Replace(good, `"b"`, `"a"`, 1))},
		{"file_and_directory", `"b" is a file, and "b/c" is below it`, zip(good + strings.Replace(good, `"b"`, `"b-"`, 1) + strings.Replace(good, `"b"`, `"b/c"`, 1))},
		{"up", "a part of the path is ..", with(`"b"`, `"../b"`)},
		{"hidden_up", "a part of the path is ..", with(`"b"`, `"\u002e./b"`)},
		{"less_than_nothing", "the size is -4", with(`:4,`, `:-4,`)},
		{"too_large_for_a_number", "size has a number 99999999999999999999 where", with(`:4,`, `:99999999999999999999,`)},
		{"larger_than_any_object", "which no object has", with(`:4,`, `:1125899906842625,`)},
		{"version_of_two_lines", `"x\r\nHost: evil" is no version`, with(`"\"098f6bcd\""`, `"x\r\nHost: evil"`)},
		{"version_of_other_letters", "is no version", with(`098f6bcd`, `ü`)},
		{"long_version", "is no version", with(`098f6bcd`, strings.Repeat("0", 2000))},
		{"fraction", "size has a number 4.5 where something else belongs", with(`:4,`, `:4.5,`)},
		{"set_user_id", "more than permissions", with(`:420`, `:2541`)},
		{"no_sum", `"" is no SHA-256`, with(sha, "")},
		{"wrong_sum", `is no SHA-256`, with(sha, strings.ToUpper(sha))},
		{"wrong_crc", `"AAAA" is no CRC64NVME`, with(crc, "AAAA")},
		{"no_parts", "0 parts of 4 bytes", with("}", `,"part_bytes":4}`)},
		{"parts_of_nothing", "1 parts of 0 bytes", with("}", `,"parts":["`+crc+`"]}`)},
		{"too_many_parts", "2 parts of 4 bytes", with("}", `,"part_bytes":4,"parts":["`+crc+`","`+crc+`"]}`)},
		{"wrong_part", `"x" is no CRC64NVME`, with("}", `,"part_bytes":4,"parts":["x"]}`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := read(row.text); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

func TestReadRefusesSumsThatNoNumberHas(t *testing.T) {
	large := record("")
	large.SizeBytes = 1 << 50
	var records []manifest.Record
	for i := range 8192 {
		large.Path = fmt.Sprintf("%04d", i)
		records = append(records, large)
	}
	if got, err := read(write(t, records)); len(got) != 8191 || err == nil || !strings.Contains(err.Error(), "add up to more bytes") {
		t.Errorf("got %d records, %v", len(got), err)
	}
}

func TestReadSaysTheSameAfterAnError(t *testing.T) {
	r := manifest.NewReader(strings.NewReader("no gzip"))
	_, first := r.Read()
	if _, again := r.Read(); first == nil || again != first {
		t.Errorf("got %v, then %v", first, again)
	}
	whole := manifest.NewReader(bytes.NewReader(write(t, nil)))
	for range 2 {
		if _, err := whole.Read(); err != io.EOF {
			t.Errorf("got %v at the end", err)
		}
	}
}

// FuzzRead holds that nothing panics, that what is read is sound and in order, and that it reads the same when it is written anew.
func FuzzRead(f *testing.F) {
	f.Add([]byte(unzip(f, write(f, several()))))
	f.Add([]byte(`{"path":"a","size":4,"mtime":1700000000123456789,"sha256":"` + sha + `","mode":420}`))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		got, err := read(zip(string(lines)))
		var paths []string
		for _, r := range got {
			if manifest.CheckPath(r.Path) != nil {
				t.Fatalf("read %q", r.Path)
			}
			paths = append(paths, r.Path)
		}
		if !slices.IsSorted(paths) {
			t.Fatalf("out of order: %q", paths)
		}
		if err != nil {
			return
		}
		again, err := read(write(t, got))
		if diff := cmp.Diff(got, again, cmp.Transformer("none", func(s []string) string { return fmt.Sprint(s) })); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
	})
}

func FuzzGzip(f *testing.F) {
	f.Add(write(f, several()))
	f.Fuzz(func(t *testing.T, zipped []byte) { _, _ = read(zipped) })
}

func FuzzHead(f *testing.F) {
	f.Add(manifest.Head{State: manifest.Whole, Manifest: manifest.Name("1"), ManifestSHA256: sha}.Encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		head, err := manifest.ParseHead(text)
		if err != nil {
			return
		}
		if y := head.Committed.Year(); y < 1 || y > 9998 {
			return
		}
		again, err := manifest.ParseHead(head.Encode())
		if err != nil || !head.Committed.Equal(again.Committed) || head.Manifest != again.Manifest || head.Files != again.Files {
			t.Fatalf("got %v, %v", again, err)
		}
	})
}

func TestHead(t *testing.T) {
	want := manifest.Head{Format: 1, State: manifest.Changing, Manifest: manifest.Name("x"), ManifestSHA256: sha, Files: 1, Bytes: 2, Committed: time.Unix(1_700_000_000, 0).UTC()}
	got, err := manifest.ParseHead(want.Encode())
	if err != nil || got != want {
		t.Errorf("got %v, %v", got, err)
	}
	for _, row := range []struct {
		name, want string
		change     func(h string) string
	}{
		{"newer_format", "it has format 2, and this muster knows 1", swap(`"format": 1`, `"format": 2`)},
		{"no_format", "it has format 0", swap(`"format": 1,`, ``)},
		{"other_state", `"new" is no state`, swap("changing", "new")},
		{"elsewhere", `"../x.jsonl.gz" is no name of a manifest`, swap("manifests/x.jsonl.gz", "../x.jsonl.gz")},
		{"further_up", "is no name of a manifest", swap("manifests/x", "manifests/../../x")},
		{"nameless", "is no name of a manifest", swap("manifests/x", "manifests/")},
		{"other_ending", "is no name of a manifest", swap("x.jsonl.gz", "x.json")},
		{"no_sum", "is no SHA-256", swap(sha, "")},
		{"fewer_than_none", "less than no files", swap(`"files": 1`, `"files": -1`)},
		{"no_json", "read head: ", func(string) string { return "<html>" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := manifest.ParseHead([]byte(row.change(string(want.Encode())))); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

func swap(old, new string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, new, 1) }
}

func TestKeys(t *testing.T) {
	for _, row := range []struct{ got, want string }{
		{manifest.Key("", "a/b"), "a/b"},
		{manifest.Key("p/q", "a"), "p/q/a"},
		{manifest.Key("p/", "a"), "p/a"},
		{manifest.HeadKey(""), ".muster/dataset.json"},
		{manifest.HeadKey("p"), "p/.muster/dataset.json"},
		{manifest.ManifestKey("p", manifest.Name("7")), "p/.muster/manifests/7.jsonl.gz"},
	} {
		if row.got != row.want {
			t.Errorf("got %s, want %s", row.got, row.want)
		}
	}
}

type full struct{ err error }

func (f full) Write(p []byte) (int, error) { return 0, f.err }

func TestWriteSaysWhatWentWrong(t *testing.T) {
	why := errors.New("no space left on device")
	w := manifest.NewWriter(full{why})
	if err := errors.Join(w.Write(record("a")), w.Close()); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkRead(b *testing.B) {
	text := write(b, many(20_000))
	for b.Loop() {
		if got, err := read(text); err != nil || len(got) != 20_000 {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	records := many(20_000)
	for b.Loop() {
		write(b, records)
	}
}

func many(n int) []manifest.Record {
	random := rand.New(rand.NewPCG(1, 2))
	records := make([]manifest.Record, n)
	for i := range records {
		records[i] = record(fmt.Sprintf("shard/%03d/%06d.bin", i/100, i))
		records[i].SHA256 = fmt.Sprintf("%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
		records[i].Version = fmt.Sprintf(`"%016x%016x"`, random.Uint64(), random.Uint64())
		records[i].ModTime += random.Int64N(1e15)
	}
	return records
}
