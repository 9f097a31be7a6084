package diag

import (
	"strings"
	"unicode"
)

// maxNearest bounds the work on a word that is no word.
const maxNearest = 64

// Nearest is the candidate that a misspelt word most probably stands for, empty if
// none is near. Case does not count as a difference; of equally near
// candidates the first wins.
func Nearest(word string, candidates []string) string {
	if len(word) > maxNearest {
		return ""
	}
	lower := strings.ToLower(word)
	best, distance := "", allowed(lower)+1
	for _, c := range candidates {
		if len(c) > maxNearest || abs(len(c)-len(word)) >= distance {
			continue
		}
		if d := editDistance(lower, strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// allowed is how many slips of the hand a word may have.
func allowed(word string) int { return max(1, len(word)/3) }

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// Surely is the candidate that word can only stand for, empty if that is not
// sure: they differ in case, hyphens and the like, or in one slip of the hand
// in a word of letters. Another digit is another thing, not a slip.
func Surely(word string, candidates []string) string {
	if len(word) > maxNearest {
		return ""
	}
	best, distance, tie := "", 2, false
	for _, c := range candidates {
		d := 0
		if bare(c) != bare(word) {
			d = max(1, slips(word, c))
		}
		if d < distance {
			best, distance, tie = c, d, false
		} else if d == distance {
			tie = true
		}
	}
	if tie {
		return ""
	}
	return best
}

// slips is the distance of words that have the same digits and are long enough
// to be recognised.
func slips(word, c string) int {
	a, b := strings.ToLower(word), strings.ToLower(c)
	if digits(a) != digits(b) || min(len(a), len(b)) < 4 || abs(len(a)-len(b)) > 1 {
		return maxNearest
	}
	return editDistance(a, b)
}

// bare is a word without case and punctuation.
func bare(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, word)
}

func digits(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, word)
}
