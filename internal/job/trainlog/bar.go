package trainlog

import "bytes"

// bar is a progress bar of tqdm (tqdm/std.py, format_meter), as it stands in a log between two carriage returns:
//
//	Epoch 0:   6%|▍         | 86/1563 [00:06<01:44, 14.19it/s, v_num=0, train_loss=1.800]
//	Epoch 1: : 1it [00:04,  4.36s/it, reduced_train_loss=0.674, global_step=1.000]
//	Epoch 0: |          | 2/? [00:36<00:00,  0.06it/s, v_num=0, train_loss=13.90]
type bar struct {
	label       string
	done, total int64 // total is 0 if the bar has none
	seconds     Value // of one step
	fields      []byte
	after       []byte // what stands behind its bracket
}

// parseBar reads one. Behind it there may be a line that a program printed before the bar was drawn again.
func parseBar(line []byte) (bar, bool) {
	var b bar
	at := 0
	for range 8 { // brackets before the bar's: more of them are no log
		n := bytes.Index(line[at:], []byte(" ["))
		if n < 0 {
			break
		}
		at += n
		times := line[at+2:]
		if len(times) > 4 && isDigit(times[0]) && bytes.IndexByte(times[:min(len(times), 12)], ':') > 0 && b.counts(line[:at]) {
			b.rest(times)
			return b, true
		}
		at++
	}
	return b, false
}

// counts reads "Epoch 0:   6%|▍         | 86/1563" or "Epoch 1: : 1it".
func (b *bar) counts(head []byte) bool {
	if before, ok := bytes.CutSuffix(head, []byte("it")); ok {
		at := len(before)
		for at > 0 && isDigit(before[at-1]) {
			at--
		}
		done, n := whole(before[at:])
		b.done, b.label = done, labelOf(before[:at])
		return n > 0
	}
	last := bytes.LastIndexByte(head, '|')
	first := bytes.Index(head, []byte("%|")) + 1
	if first == 0 {
		first = bytes.IndexByte(head, '|')
	}
	if first == last {
		return false
	}
	count := head[last+1:]
	count = count[spaces(count):]
	done, n := whole(count)
	if n == 0 || n == len(count) || count[n] != '/' {
		return false
	}
	total, m := whole(count[n+1:])
	if rest := string(count[n+1+m:]); rest != "" && (m > 0 || rest != "?") || m > 0 && total == 0 {
		return false
	}
	at := first
	if at > 0 && head[at-1] == '%' {
		for at--; at > 0 && isDigit(head[at-1]); at-- {
		}
	}
	b.done, b.total, b.label = done, total, labelOf(head[:at])
	return true
}

func labelOf(text []byte) string {
	text = bytes.TrimRight(text, " :")
	if n := bytes.LastIndex(text, []byte("Epoch ")); n > 0 {
		text = text[evalWordBefore(text, n):]
	}
	text = text[spaces(text):]
	return string(text[:min(len(text), 100)])
}

// evalWordBefore is where a word for an evaluation begins that stands right before at: "Validation Epoch 1/3". Without one it is at.
func evalWordBefore(text []byte, at int) int {
	word := bytes.TrimRight(text[:at], " ")
	from := len(word)
	for from > 0 && isLetter(word[from-1]) {
		from--
	}
	if isEval(word[from:]) {
		return from
	}
	return at
}

// rest reads "00:06<01:44, 14.19it/s, v_num=0, train_loss=1.800]".
func (b *bar) rest(text []byte) {
	if n := closing(text); n >= 0 {
		text, b.after = text[:n], text[n+1:]
	}
	_, fields, ok := bytes.Cut(text, []byte(", "))
	if !ok {
		return
	}
	b.fields = fields
	first, rest, _ := bytes.Cut(fields, []byte(","))
	speed := bytes.TrimSpace(first)
	v, n := numberAt(speed, false)
	switch string(speed[n:]) {
	case "it/s":
		if v.Float > 0 {
			b.seconds = Some(1 / v.Float)
		}
	case "s/it":
		b.seconds = v
	default:
		if string(speed) != "?it/s" {
			return
		}
	}
	b.fields = rest
}

// closing is where the bracket ends that was open before text; -1 is nowhere.
func closing(text []byte) int {
	open := 1
	for i, c := range text {
		switch c {
		case '[':
			open++
		case ']':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}
