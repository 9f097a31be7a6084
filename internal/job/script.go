package job

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
)

// directive is one of sbatch's options, from a #SBATCH line or from the command
// line.
type directive struct {
	name, value string
	// place is where it stands; on the command line it has none.
	place diag.Place
}

// written is the option as its user may have written it.
func (d directive) written() string {
	if d.value == "" {
		return "--" + d.name
	}
	return "--" + d.name + "=" + d.value
}

// longNames are the options that we look at, and their short forms. All of them
// take a value.
var longNames = map[string]string{
	"N": "nodes", "p": "partition", "c": "cpus-per-task", "n": "ntasks",
	"nodes": "nodes", "partition": "partition", "cpus-per-task": "cpus-per-task", "ntasks": "ntasks",
	"ntasks-per-node": "ntasks-per-node", "tasks-per-node": "ntasks-per-node",
	"o": "output", "e": "error", "output": "output", "error": "error",
	"gres": "gres", "gpus-per-node": "gpus-per-node", "mem": "mem",
}

// CheckText looks at what sbatch would not take for a batch script at all.
func CheckText(name string, data []byte) *diag.List {
	list := &diag.List{}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	top := diag.Place{File: name, Line: 1, Source: text(first)}
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		list.Errorf("script/empty", "", "the file is empty").At(diag.Place{File: name})
	case !bytes.HasPrefix(data, []byte("#!")) && clusterFile(name, data):
		list.Errorf("script/interpreter", "", "this is a cluster file, not a batch script").At(diag.Place{File: name}).
			WithHint("`muster up %s` makes the cluster", name)
	case !bytes.HasPrefix(data, []byte("#!")):
		list.Errorf("script/interpreter", "", "this is no batch script: its first line does not name an interpreter").At(top).
			WithHint("begin the file with #!/bin/bash")
	case bytes.HasSuffix(first, []byte("\r")):
		list.Errorf("script/line-ends", "", "the lines end as on Windows, with a carriage return").At(top).
			WithHint("sed -i 's/\\r$//' %s", name)
	}
	return list
}

// clusterFile guesses whether a file is a cluster file.
func clusterFile(name string, data []byte) bool {
	ext := filepath.Ext(name)
	return (ext == ".yaml" || ext == ".yml") && bytes.Contains(data, []byte("Scheduling:"))
}

// directives are the options in the #SBATCH lines of a batch script, as far as
// sbatch reads them: up to the first command. A script of several parts
// (hetjob, packjob) has none that we understand.
func directives(name string, data []byte) []directive {
	var all []directive
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' {
			break
		}
		args, ok := bytes.CutPrefix(line, []byte("#SBATCH"))
		if !ok || len(args) > 0 && args[0] != ' ' && args[0] != '\t' {
			continue
		}
		words := splitWords(text(args))
		for _, w := range words {
			if w.text == "hetjob" || w.text == "packjob" {
				return nil
			}
		}
		place := diag.Place{File: name, Line: n, Source: text(line)}
		all = append(all, options(words, place, utf8.RuneCountInString("#SBATCH")+1)...)
	}
	return all
}

// flagsOf are options of sbatch's as the command line has them.
func flagsOf(flags []string) []directive {
	words := make([]word, len(flags))
	for i, f := range flags {
		words[i] = word{text: f}
	}
	return options(words, diag.Place{}, 0)
}

// options reads "--nodes=4", "--nodes 4", "-N4" and "-N 4". Where the value of
// an option that we do not know stands by itself, it starts with no dash and is
// passed over.
func options(words []word, at diag.Place, column int) []directive {
	var all []directive
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, value, hasValue := cutOption(w.text)
		long := longNames[name]
		if long == "" {
			continue
		}
		if !hasValue {
			if i++; i >= len(words) {
				break
			}
			value = words[i].text
		}
		place := at
		if at.Line > 0 {
			place.Column = column + w.column
		}
		all = append(all, directive{name: long, value: value, place: place})
	}
	return all
}

// Options takes what users write as sbatch's options on the command line apart:
// "--nodes=2 --exclusive" are two.
func Options(texts []string) []string {
	var all []string
	for _, t := range texts {
		for _, w := range splitWords(t) {
			all = append(all, w.text)
		}
	}
	return all
}

// cutOption takes an option's name and value apart. "" is no option.
func cutOption(text string) (name, value string, hasValue bool) {
	if long, ok := strings.CutPrefix(text, "--"); ok {
		return strings.Cut(long, "=")
	}
	if len(text) < 2 || text[0] != '-' {
		return "", "", false
	}
	return text[1:2], text[2:], len(text) > 2
}

// word is a word of a line. column is how many characters stand before it.
type word struct {
	text   string
	column int
}

// splitWords cuts a line at its blanks, as sbatch does: quotes keep a word
// together, a backslash takes the next character as it is, and # starts a
// comment.
func splitWords(line string) []word {
	var words []word
	var now strings.Builder
	var quote rune
	started, escaped, start, n := false, false, 0, -1
	for _, r := range line {
		n++
		switch {
		case escaped:
			now.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
			if !started {
				started, start = true, n
			}
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			now.WriteRune(r)
		case r == ' ' || r == '\t' || r == '\r':
			if started {
				words = append(words, word{now.String(), start})
			}
			now.Reset()
			started = false
		case r == '#' && !started:
			return words
		default:
			if !started {
				started, start = true, n
			}
			if r == '"' || r == '\'' {
				quote = r
			} else {
				now.WriteRune(r)
			}
		}
	}
	if started {
		words = append(words, word{now.String(), start})
	}
	return words
}

// text is a line of a file that may be anything.
func text(line []byte) string {
	return strings.ToValidUTF8(string(bytes.TrimRight(line, "\r")), "\uFFFD")
}

// want is what a batch script asks for, each with the option that says so.
// A number of 0 is not asked for.
type want struct {
	partition, nodes, cpus, tasks, memory, gpus directive

	minNodes                  int
	cpusPerTask, tasksPerNode int
	memoryMiB                 int
	gpuCount                  int
	gpuType                   string
}

func (w want) cpusPerNode() int { return max(w.cpusPerTask, 1) * max(w.tasksPerNode, 1) }

// wants reads what we understand of the options. Later ones win.
func wants(all []directive) want {
	var w want
	for _, d := range all {
		switch d.name {
		case "partition":
			w.partition = d
		case "nodes":
			w.nodes, w.minNodes = d, nodeCount(d.value)
		case "cpus-per-task":
			w.cpus, w.cpusPerTask = d, number(d.value)
		case "ntasks-per-node":
			w.tasks, w.tasksPerNode = d, number(d.value)
		case "mem":
			w.memory, w.memoryMiB = d, memoryMiB(d.value)
		case "gres":
			if kind, n, ok := gres(d.value); ok {
				w.gpus, w.gpuType, w.gpuCount = d, kind, n
			}
		case "gpus-per-node":
			if kind, n, ok := gres("gpu:" + d.value); ok {
				w.gpus, w.gpuType, w.gpuCount = d, kind, n
			}
		}
	}
	return w
}

// number reads a whole number; 0 is none.
func number(text string) int {
	const most = 7 // digits
	if text == "" || len(text) > most || strings.Trim(text, "0123456789") != "" {
		return 0
	}
	n := 0
	fmt.Sscan(text, &n)
	return n
}

// nodeCount reads the least of "4", "4-8", "2k"; 0 is something else.
func nodeCount(text string) int {
	low, _, _ := strings.Cut(text, "-")
	factor := 1
	switch {
	case strings.HasSuffix(low, "k"), strings.HasSuffix(low, "K"):
		factor = 1024
	case strings.HasSuffix(low, "m"), strings.HasSuffix(low, "M"):
		factor = 1024 * 1024
	}
	if factor > 1 {
		low = low[:len(low)-1]
	}
	return number(low) * factor
}

// memoryMiB reads "4000", "64G"; a part of a MiB counts as one. 0 is all of
// the node's or something else.
func memoryMiB(text string) int {
	unit := strings.ToUpper(strings.TrimLeft(text, "0123456789"))
	n := number(text[:len(text)-len(unit)])
	switch unit {
	case "", "M", "MB":
		return n
	case "K", "KB":
		return (n + 1023) / 1024
	case "G", "GB":
		return n << 10
	case "T", "TB":
		return n << 20
	}
	return 0
}

// gres reads the GPUs in "gpu:8", "gpu:h200:8", "gres:gpu", "nvme:1,gpu:2".
func gres(list string) (kind string, n int, ok bool) {
	for item := range strings.SplitSeq(list, ",") {
		item, _, _ = strings.Cut(item, "(")
		parts := strings.Split(strings.TrimPrefix(item, "gres:"), ":")
		if parts[0] != "gpu" || len(parts) > 3 {
			continue
		}
		n = 1
		last := parts[len(parts)-1]
		if len(parts) > 1 && number(last) > 0 {
			n = number(last)
			parts = parts[:len(parts)-1]
		} else if len(parts) == 3 || len(parts) == 2 && strings.Trim(last, "0") == "" {
			return "", 0, false
		}
		if len(parts) == 2 {
			kind = parts[1]
		}
		return kind, n, true
	}
	return "", 0, false
}
