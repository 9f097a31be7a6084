package connect

import "strings"

// Quote is a command line for a POSIX shell, which SSH's server gives it to: each
// argument stays one.
func Quote(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = quoted(arg)
	}
	return strings.Join(words, " ")
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+:,./-"

func quoted(arg string) string {
	if arg != "" && strings.Trim(arg, plain) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
