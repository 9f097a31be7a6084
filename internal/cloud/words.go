package cloud

import "strconv"

// count is a number with its noun: "1 node", "3 nodes".
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case noun[len(noun)-1] == 'y':
		noun = noun[:len(noun)-1] + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
