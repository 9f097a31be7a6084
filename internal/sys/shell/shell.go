// Package shell writes words for a POSIX shell, which reads the same words again: nothing
// in them is expanded, split or run. A plain first word that a shell has a meaning of its
// own for, such as time, keeps that. Split reads words as such a shell does.
package shell

import "strings"

// Line is a command line of words. Those that every shell takes as they are stand there
// without quotes.
func Line(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.Trim(w, plain) != "" {
			quoted[i] = Quote(w)
		}
	}
	return strings.Join(quoted, " ")
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+:,./-"

// Quote is a text as one word, in quotes whatever it is. No word can have a zero byte,
// which is left out.
func Quote(text string) string {
	return "'" + strings.NewReplacer("\x00", "", "'", `'\''`).Replace(text) + "'"
}
