package job

import (
	"bytes"
	"regexp"
	"strconv"
	"sync"
)

// Progress is how far a training has come, from a line of its output:
//
//	Batch 10 Loss: 7.10000, Speed: 1.20 samples/sec, lr: 0.000030
//
// whatever stands before it. Loss and LR may be NaN or infinite, which is worth
// seeing.
type Progress struct {
	Batch int
	Loss  float64
	// Speed is in samples a second.
	Speed float64
	LR    float64
}

const numberText = `([-+]?(?:[0-9][0-9.eE+-]*|nan|inf|NaN|Inf))`

var progressLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Batch ([0-9]{1,12})(?: Steps [0-9]+)? Loss: ` + numberText + `, Speed: ` + numberText + ` samples/sec, lr: ` + numberText + `(?:[^0-9.]|$)`)
})

// ParseProgress reads one line of a training's output.
func ParseProgress(line []byte) (Progress, bool) {
	m := progressLine().FindSubmatch(line)
	if m == nil {
		return Progress{}, false
	}
	var p Progress
	var err error
	if p.Batch, err = strconv.Atoi(string(m[1])); err != nil {
		return Progress{}, false
	}
	for i, value := range []*float64{&p.Loss, &p.Speed, &p.LR} {
		if *value, err = strconv.ParseFloat(string(m[i+2]), 64); err != nil {
			return Progress{}, false
		}
	}
	return p, true
}

// LastProgress finds the last line of progress in a piece of output. A last
// line without its end may not be whole and does not count.
func LastProgress(output []byte) (Progress, bool) {
	output = output[:bytes.LastIndexByte(output, '\n')+1]
	for len(output) > 0 {
		output = output[:len(output)-1]
		start := bytes.LastIndexByte(output, '\n') + 1
		if p, ok := ParseProgress(output[start:]); ok {
			return p, true
		}
		output = output[:start]
	}
	return Progress{}, false
}
