package diag

import "strings"

// maxNearest bounds the work on a word that is no word.
const maxNearest = 64

// Nearest is the candidate that somebody who typed word most probably meant,
// empty if none is near. Case does not count as a difference; of equally near
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
