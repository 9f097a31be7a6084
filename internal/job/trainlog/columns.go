package trainlog

import "bytes"

// columns are those of a table whose rows are labels of bars, as Ultralytics (YOLO) draws it: a bit for each that is a loss.
//
//	Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
//	1/100      2.52G      1.234      3.456      1.234         16        640: 100%|██████████| 8/8 [00:03<00:00,  2.50it/s]
//	1/100      2.52G      1.234      3.456      1.234         16        640: 100% ━━━━━━━━━━━━ 8/8 2.5it/s 3.2s
type columns uint32

// head takes the line with the names.
func (c *columns) head(line []byte) bool {
	if !bytes.HasPrefix(line[spaces(line):], []byte("Epoch ")) || !bytes.Contains(line, []byte("_loss")) {
		return false
	}
	var mask columns
	for i, word := range bytes.Fields(line) {
		if i >= 32 {
			return false
		}
		if bytes.HasSuffix(word, []byte("_loss")) {
			mask |= 1 << i
		}
	}
	if mask == 0 {
		return false
	}
	*c = mask
	return true
}

// row reads a label: the epoch, how many there will be, and the sum of the losses, which is what is trained for.
func (c columns) row(label string, s *Sample) (epoch, epochs int64, ok bool) {
	sum, known := 0.0, false
	for i, word := range bytes.Fields([]byte(label)) {
		if i == 0 {
			n := 0
			if epoch, n = whole(word); n == 0 || n+1 >= len(word) || word[n] != '/' {
				return 0, 0, false
			}
			m := 0
			if epochs, m = whole(word[n+1:]); m == 0 || n+1+m != len(word) {
				return 0, 0, false
			}
		}
		if i < 32 && c&(1<<i) != 0 {
			v, n := numberAt(word, false)
			if n != len(word) {
				return 0, 0, false
			}
			sum, known = sum+v.Float, true
		}
	}
	if known {
		s.Loss = Some(sum)
	}
	return epoch, epochs, known
}

// parseLine reads a bar that is drawn with lines: "640: 12% ━╸────────── 1/8 2.5it/s 0.4s<2.8s".
func parseLine(line []byte) (bar, bool) {
	var b bar
	at := bytes.Index(line, []byte("% \xe2\x94")) // ━ and ─
	if at < 0 {
		return b, false
	}
	colon := at
	for colon > 0 && isDigit(line[colon-1]) {
		colon--
	}
	label, ok := bytes.CutSuffix(line[:colon], []byte(": "))
	if !ok || colon == at {
		return b, false
	}
	rest := bytes.TrimLeftFunc(line[at+2:], func(r rune) bool { return r >= 0x2500 && r < 0x2580 || r == ' ' })
	done, n := whole(rest)
	if n == 0 || n >= len(rest) || rest[n] != '/' {
		return b, false
	}
	total, m := whole(rest[n+1:])
	if m == 0 || total == 0 {
		return b, false
	}
	b.done, b.total, b.label = done, total, labelOf(label)
	rest = rest[n+1+m:]
	if v, length := numberAt(rest[spaces(rest):], false); bytes.HasPrefix(rest[spaces(rest)+length:], []byte("it/s")) && v.Float > 0 {
		b.seconds = Some(1 / v.Float)
	}
	return b, true
}
