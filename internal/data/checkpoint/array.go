package checkpoint

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// arrayHead is more than the header of an array has: numpy writes at most 64 bytes more than what it says.
const arrayHead = 1 << 10

var arrayType = pattern.New(`'descr': '[<>|=]([bcfiuV])(\d+)', 'fortran_order': (?:True|False), 'shape': \(([\d, ]*)\)`)

// askArray asks for the header of a file of numpy.save, which says of what type the array is and how many elements it has
// (https://github.com/numpy/numpy/blob/main/numpy/lib/_format_impl.py). Another array may follow it.
func askArray(size int64) *question {
	return &question{0, min(arrayHead, size), func(b []byte) (Content, *question) {
		if !begins(b, "\x93NUMPY") {
			return Content{}, nil
		}
		if len(b) < 12 {
			return Content{Torn: fmt.Sprintf("it has %d bytes, which is less than a header", size)}, nil
		}
		data := 10 + int64(binary.LittleEndian.Uint16(b[8:]))
		if b[6] > 1 {
			data = 12 + int64(binary.LittleEndian.Uint32(b[8:]))
		}
		if data > size {
			return Content{Torn: fmt.Sprintf("it has %d bytes, and its header alone %d", size, data)}, nil
		}
		m := arrayType().FindSubmatch(b)
		if m == nil {
			return Content{}, nil // of objects or of several fields
		}
		bytes, ok := elements(string(m[2]) + "," + string(m[3]))
		switch want := data + bytes; {
		case !ok:
			return Content{}, nil
		case size < want:
			return Content{Torn: fmt.Sprintf("it has %d bytes, and its header says %d", size, want)}, nil
		default:
			return Content{Checked: size == want}, nil
		}
	}}
}

// elements multiplies numbers.
func elements(numbers string) (int64, bool) {
	all := int64(1)
	for text := range strings.SplitSeq(numbers, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > 0 && all > (1<<62)/n {
			return 0, false
		}
		all *= n
	}
	return all, true
}
