package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"slices"
)

// Content is what a file's own bytes say of its length.
type Content struct {
	Checked bool   // it is as long as it says
	Torn    string // it is not, and why
}

// Span is a part of a file of a checkpoint.
type Span struct {
	Path        string // below the checkpoint's directory
	From, Bytes int64
}

// question is a part of a file that is to be read, and what follows from its bytes: an answer, or the next question.
type question struct {
	from, bytes int64
	answer      func([]byte) (Content, *question)
}

// ask returns the first question about a file, nil if its form is not known by its name.
func ask(f File) *question {
	switch name := path.Base(f.Path); path.Ext(name) {
	case ".safetensors":
		return askSafetensors(f.SizeBytes)
	case ".pt", ".pth", ".ckpt", ".bin", ".pkl", ".npz", ".keras":
		return askArchive(f, archiveTail)
	case ".npy":
		return askArray(f.SizeBytes)
	case ".json":
		if oneJSON(name) {
			return askJSON(f.SizeBytes)
		}
	}
	return nil
}

// neverEmpty reports whether no program can read a file of such a name if it has no bytes. Files of
// torch.distributed.checkpoint are not among them: a rank that has nothing to write leaves an empty one.
func neverEmpty(p string) bool {
	name := path.Base(p)
	switch name {
	case ".metadata", "saved_model.pb", "manifest.ocdbt", "_METADATA":
		return true
	}
	return patterns().shard.MatchString(name) || slices.Contains([]string{".safetensors", ".pt", ".pth", ".ckpt", ".bin", ".pkl", ".npz", ".npy", ".keras",
		".nemo", ".h5", ".hdf5", ".msgpack", ".json", ".index", ".gguf", ".onnx", ".tar", ".tgz", ".gz", ".zst", ".pdparams", ".pdopt", ".params", ".tensors",
		".tflite"}, path.Ext(name))
}

// begins reports whether a file begins with what all of its form do, as far as it goes.
func begins(head []byte, magic string) bool {
	n := min(len(head), len(magic))
	return string(head[:n]) == magic[:n]
}

const (
	headerFirst = 64 << 10    // most headers of safetensors are shorter
	headerRead  = 16 << 20    // longer ones are not read
	headerMost  = 100_000_000 // what the library reads, MAX_HEADER_SIZE
)

// askSafetensors asks for the header of a file of safetensors: eight bytes with its length, and JSON with the offsets of all
// tensors behind it. The last one ends where the file does, or the library refuses the file
// (https://github.com/huggingface/safetensors/blob/main/safetensors/src/tensor.rs, read_metadata).
func askSafetensors(size int64) *question {
	return &question{0, min(size, headerFirst), func(b []byte) (Content, *question) {
		if len(b) < 8 {
			return Content{Torn: fmt.Sprintf("it has %d bytes, which is less than a header", size)}, nil
		}
		n := binary.LittleEndian.Uint64(b)
		switch {
		case n > headerMost:
			return Content{Torn: "it does not begin with a header"}, nil
		case 8+int64(n) > size:
			return Content{Torn: fmt.Sprintf("it has %d bytes, and its header alone %d", size, 8+n)}, nil
		case n > headerRead:
			return Content{}, nil
		case 8+int(n) <= len(b):
			return tensors(b[8:8+n], size), nil
		}
		return Content{}, &question{int64(len(b)), 8 + int64(n) - int64(len(b)), func(rest []byte) (Content, *question) {
			return tensors(slices.Concat(b[8:], rest), size), nil
		}}
	}}
}

// tensors compares a header with the size of its file.
func tensors(header []byte, size int64) Content {
	var all map[string]struct {
		Offsets [2]int64 `json:"data_offsets"`
	}
	if json.Unmarshal(header, &all) != nil {
		return Content{Torn: "its header is not JSON"}
	}
	end := int64(0)
	for _, t := range all {
		if t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] {
			return Content{Torn: fmt.Sprintf("its header has a tensor from byte %d to %d", t.Offsets[0], t.Offsets[1])}
		}
		end = max(end, t.Offsets[1])
	}
	if want := 8 + int64(len(header)) + end; size != want {
		return Content{Torn: fmt.Sprintf("it has %d bytes, and its header says %d", size, want)}
	}
	return Content{Checked: true}
}

const (
	endBytes    = 22               // the end record of a zip archive without a comment
	archiveTail = 1 << 10          // torch and numpy write no comment: the end and what is before it in large ones fit
	archiveMost = endBytes + 65535 // with the longest comment
)

// headBytes is as much of an archive's beginning as is read: a block.
const headBytes = 512

// askArchive asks for the end of what torch.save or numpy.savez writes, a zip archive: its last record says where the list of
// its members is, which ends right before it (PKWARE's APPNOTE 4.3.6;
// https://github.com/pytorch/pytorch/blob/main/caffe2/serialize/inline_container.cc). A file that begins like an archive and does
// not end like one was cut off. So was one of zeros: file systems leave that after a power cut, and no archive or pickle begins so. A
// .bin may be bare numbers, the first of them zeros. Of other forms, as torch's before 1.6, nothing else is known.
func askArchive(f File, tail int64) *question {
	size := f.SizeBytes
	tail = min(tail, size)
	return &question{size - tail, tail, func(b []byte) (Content, *question) {
		if archiveEnds(b, size) {
			return Content{Checked: true}, nil
		}
		torn := Content{Torn: "it begins like a zip archive, and has no end"}
		if tail > archiveTail {
			return torn, nil
		}
		return Content{}, &question{0, min(headBytes, size), func(head []byte) (Content, *question) {
			switch {
			case allZeros(head) && (path.Ext(f.Path) != ".bin" || allZeros(b)):
				return Content{Torn: "it begins with zeros, as a file whose bytes were lost in a power cut"}, nil
			case !begins(head, "PK\x03\x04"):
				return Content{}, nil
			case tail < size:
				return Content{}, askArchive(f, archiveMost)
			}
			return torn, nil
		}}
	}}
}

func allZeros(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// archiveEnds reports whether the end of a file of so many bytes is that of a zip archive. Behind it there may be a comment, or
// something else: torch reads such files, too.
func archiveEnds(b []byte, size int64) bool {
	for at := len(b) - endBytes; at >= 0; at-- {
		end := b[at:]
		if !bytes.HasPrefix(end, []byte("PK\x05\x06")) {
			continue
		}
		listed, begins := uint64(binary.LittleEndian.Uint32(end[12:])), uint64(binary.LittleEndian.Uint32(end[16:]))
		behind := uint64(size) - uint64(len(end)) // where the list has to end
		if at >= 20 && bytes.HasPrefix(b[at-20:], []byte("PK\x06\x07")) {
			behind = binary.LittleEndian.Uint64(b[at-12:]) // the record of a large archive is between them
			record := int64(behind) - (size - int64(len(b)))
			if record < 0 || record+56 > int64(at) || !bytes.HasPrefix(b[record:], []byte("PK\x06\x06")) {
				continue
			}
			listed, begins = binary.LittleEndian.Uint64(b[record+40:]), binary.LittleEndian.Uint64(b[record+48:])
		}
		if begins <= behind && listed == behind-begins {
			return true
		}
	}
	return false
}
