// Package count says numbers of things as people do: 1 node, 3 nodes.
package count

import (
	"strconv"
	"strings"
)

// Of is a number with its noun: "1 node", "3 nodes". Of several words the last one is
// counted.
func Of[N int | int64](n N, noun string) string {
	return strconv.FormatInt(int64(n), 10) + " " + Noun(n, noun)
}

// Are is Of with its verb: "1 node is", "3 nodes are".
func Are[N int | int64](n N, noun string) string {
	if n == 1 {
		return Of(n, noun) + " is"
	}
	return Of(n, noun) + " are"
}

// Noun is the noun alone, as that number asks for it.
func Noun[N int | int64](n N, noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return noun
	case y && !strings.ContainsAny(stem[len(stem)-1:], "aeo"):
		return stem + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"):
		return noun + "es"
	}
	return noun + "s"
}
