package spec

import (
	"strings"
)

// Rows are the table's rows of all levels, as they stand in it: constraints,
// defaults and policies carry their levels. They are for documents.
func Rows() []Key { return rowsOf(clusterTable) }

// WorkloadRows are the rows of muster.yaml's table. Their Use is a sentence on
// what the key means.
func WorkloadRows() []Key { return rowsOf(workloadTable) }

func rowsOf(table string) []Key {
	var rows []Key
	for line := range strings.Lines(table) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			rows = append(rows, parseKey(line))
		}
	}
	return rows
}

// Takes says in words what a row's key takes, beyond its type.
func (k Key) Takes() string {
	var parts []string
	for term := range strings.FieldsSeq(k.Constraint) {
		term, levels := cutRange(term)
		parts = append(parts, k.term(term)+levels.words())
	}
	return strings.Join(parts, "; ")
}

func (k Key) term(term string) string {
	word, rest, _ := strings.Cut(term, ":")
	switch word {
	case "in":
		return "one of " + listed(rest)
	case "re":
		return "matches `" + rest + "`"
	case "id":
		f := field{constraint: constraint{pattern: newPattern(rest)}}
		_, form, _ := strings.Cut(f.idHint(), "'s id is ")
		return "`" + strings.Replace(form, " ", "` ", 1)
	case "range":
		return parseBounds(rest).String()
	case "len":
		if k.Type == "strings" {
			return parseBounds(rest).String() + " entries"
		}
		return parseBounds(rest).String() + " characters"
	default:
		return "a network such as `10.0.0.0/8`, or a prefix list's id"
	}
}

// listed are values with their levels.
func listed(values string) string {
	var out []string
	for value := range strings.SplitSeq(values, ",") {
		value, levels := cutRange(value)
		if levels.last != 0 && levels.last < oldest {
			continue
		}
		out = append(out, "`"+value+"`"+levels.words())
	}
	return strings.Join(out, ", ")
}

// words say the levels behind something.
func (r levelRange) words() string {
	if text := r.String(); text != "" {
		return " (" + text + ")"
	}
	return ""
}

// Defaults says what ParallelCluster takes for an absent key.
func (k Key) Defaults() string {
	var parts []string
	for value := range strings.FieldsSeq(k.Default) {
		value, levels := cutRange(value)
		parts = append(parts, "`"+value+"`"+levels.words())
	}
	return strings.Join(parts, ", ")
}

// Changes says when the key can be changed, for all levels.
func (k Key) Changes() string {
	var parts []string
	for policy := range strings.FieldsSeq(k.UpdatePolicy) {
		policy, levels := cutRange(policy)
		if policy == "IGNORED" && (k.Type == "map" || k.Type == "list") {
			parts = append(parts, "as its keys can"+levels.words())
			continue
		}
		parts = append(parts, Key{UpdatePolicy: policy}.Change()+levels.words())
	}
	return strings.Join(parts, "; ")
}
