package slurm

import (
	"fmt"
	"strings"
)

// closedRows cuts the body into rows of the given number of columns that end with the value they begin with, a job's or a
// step's number. What fits in no row is left out and told of; it takes no whole row with it, whatever is written in it.
func closedRows(body, delimiter string, columns int) (rows []string, problems []Problem) {
	lines := strings.Split(body, "\n")
	var odd []string
	tell := func() {
		if text := strings.Join(odd, "\n"); text != "" {
			problems = append(problems, Problem{Row: shorten(text),
				Text: fmt.Sprintf("a row of %d columns instead of %d", strings.Count(text, delimiter)+1, columns)})
		}
		odd = nil
	}
	for i := 0; i < len(lines); {
		n := closedRow(lines[i:], delimiter, columns)
		if n == 0 {
			odd = append(odd, lines[i])
			i++
			continue
		}
		tell()
		rows = append(rows, strings.Join(lines[i:i+n], "\n"))
		i += n
	}
	tell()
	return rows, problems
}

// closedRow is how many of the lines are the row that begins with the first of them, 0 if none does.
func closedRow(lines []string, delimiter string, columns int) int {
	number, _, _ := strings.Cut(lines[0], delimiter)
	if number == "" || number[0] < '0' || number[0] > '9' {
		return 0
	}
	count, size := 1, 0
	for i, line := range lines {
		count, size = count+strings.Count(line, delimiter), size+len(line)+1
		if count > columns || i > 0 && size > maxRow {
			return 0
		}
		if count == columns && strings.HasSuffix(line, delimiter+number) {
			return i + 1
		}
	}
	return 0
}
