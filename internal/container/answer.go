package container

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// What hold answers are fields that each end with a zero byte; the first says what
// the others are, and an empty one ends the answer.

// answerOK tells how tasks join a container.
func answerOK(w io.Writer, c Container, seccomp string, notices []string) error {
	fields := []string{"ok", strconv.Itoa(c.PID), strings.Join(c.Namespaces, ","), c.Workdir, seccomp}
	fields = append(fields, c.Set...)
	for _, name := range c.Unset {
		fields = append(fields, "-"+name)
	}
	for _, text := range notices {
		fields = append(fields, "!"+oneLine(toSrun(text)))
	}
	return writeFields(w, append(fields, ""))
}

// answerError tells why there is no container.
func answerError(w io.Writer, err error) error {
	return writeFields(w, []string{"error", oneLine(errorToSrun(err)), oneLine(toSrun(Hint(err))), ""})
}

func writeFields(w io.Writer, fields []string) error {
	var b bytes.Buffer
	for _, f := range fields {
		b.WriteString(strings.ReplaceAll(f, "\x00", "") + "\x00")
	}
	_, err := w.Write(b.Bytes())
	return err
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
