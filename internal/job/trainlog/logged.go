package trainlog

import "bytes"

// parseLogged reads a bar that tqdm_loggable writes as a line where there is no terminal, as in Levanter's logs:
//
//	Progress on:train 60.0it/10.0kit rate:1.2it/s remaining:2:16:20 elapsed:00:50 postfix:loss=6
func parseLogged(line []byte) (bar, bool) {
	var b bar
	_, rest, ok := bytes.Cut(line, []byte("Progress on:"))
	if !ok {
		return b, false
	}
	label, rest, _ := bytes.Cut(rest, []byte(" "))
	done, total, ok := bytes.Cut(rest, []byte("it/"))
	if !ok {
		return b, false
	}
	total, _, _ = bytes.Cut(total, []byte("it"))
	b.label = labelOf(label)
	b.done, b.total = shortCount(done), shortCount(total)
	if v := valueOf(rest, " rate:", false); v.Float > 0 {
		b.seconds = Some(1 / v.Float)
	}
	_, b.fields, _ = bytes.Cut(rest, []byte(" postfix:"))
	return b, b.total > 0
}

// shortCount reads a count as tqdm shortens it: 60.0, 10.0k. It is 0 if there is none.
func shortCount(text []byte) int64 {
	f := field{value: bytes.TrimRight(text, "kM")}
	f.after = text[len(f.value):]
	if v := f.float(); len(f.value) > 0 && v.Known && v.Float >= 0 && v.Float < 1e12 {
		return int64(v.Float + 0.5)
	}
	return 0
}
