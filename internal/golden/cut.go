package golden

import (
	"slices"
	"strings"
)

// cuts lead from one list to another: what is not in both is taken away and put in,
// from the end to the beginning, so that each cut counts in the first list.
func cuts[T any](path []any, from, to []T) (out []change) {
	i, j := 0, 0
	for _, both := range append(shared(from, to), [2]int{len(from), len(to)}) {
		if i < both[0] || j < both[1] {
			out = append(out, change{path: path, deed: cut, value: to[j:both[1]], from: i, to: both[0]})
		}
		i, j = both[0]+1, both[1]+1
	}
	slices.Reverse(out)
	return out
}

// shared are the places in two lists of the most elements that both have in one order.
func shared[T any](from, to []T) (out [][2]int) {
	equal, most := compared(from, to)
	for i, j := 0, 0; i < len(from) && j < len(to); {
		switch {
		case equal(i, j):
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case most[i+1][j] >= most[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// compared tells which elements of two lists are equal, and how many in a row both
// have from two places on.
func compared[T any](from, to []T) (equal func(i, j int) bool, most [][]int) {
	a, b := texts(from), texts(to)
	most = make([][]int, len(a)+1)
	most[len(a)] = make([]int, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		most[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			most[i][j] = max(most[i+1][j], most[i][j+1])
			if a[i] == b[j] {
				most[i][j] = most[i+1][j+1] + 1
			}
		}
	}
	return func(i, j int) bool { return a[i] == b[j] }, most
}

func texts[T any](list []T) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = encoded(list[i])
	}
	return out
}

// long reports whether a text is written in pieces.
func long(text string) bool {
	return strings.Contains(text, "\n") || len(text) > wide && strings.Contains(text, `,"`)
}

// pieces are a text's lines, and of lines with JSON their members: what begins a line
// has a bar before it, what goes on a plus.
func pieces(text string) []string {
	text = strings.ReplaceAll("|"+strings.ReplaceAll(text, "\n", "\n|"), `,"`, "\n+,\"")
	return strings.Split(text, "\n")
}

func joined(pieces []string) string {
	text := strings.ReplaceAll(strings.Join(pieces, "\n"), "\n+", "")
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n|", "\n"), "|")
}
