package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	cloudKey  = regexp.MustCompile(`^(\w+): *(.*)$`)
	writtenTo = regexp.MustCompile(`^\s*- path: (.*)$`)
	function  = regexp.MustCompile(`^function (\w+)`)
	// called are the programs of a line, wherever they stand on it.
	called = regexp.MustCompile(`(\baws [a-z0-9]+ [a-z-]+|entrypoints::\w+|fetch_and_run|-(?:pre|post)install|cfn-init .*-c \w+|cfn-signal|complete-lifecycle-action|\bshutdown|^timeout|\bwhich \S+|\bcurl|\bjq|\btar|\btouch|\bmkdir|\.bootstrapped|[\w/.-]*proxy\.sh|[\w/.-]*environment\.sh|[\w/.-]*default-config\.sh|/etc/[\w./-]+)`)
)

// userData reads what the machines' user data has: its parts, what cloud-init is told,
// and what its scripts do. A thing that several kinds of machines have is noted once.
func userData(resources string) ([]item, error) {
	var all []item
	for _, node := range []string{"head", "compute", "login"} {
		text, err := os.ReadFile(filepath.Join(resources, node+"_node", "user_data.sh"))
		if err != nil {
			return nil, err
		}
		for _, i := range partsOf(string(text)) {
			at := slices.IndexFunc(all, func(o item) bool {
				return o.place == i.place && o.kind == i.kind && o.name == i.name && o.detail == i.detail
			})
			if at < 0 {
				i.guard = node
				all = append(all, i)
			} else if !strings.Contains(all[at].guard, node) {
				all[at].guard += ", " + node
			}
		}
	}
	slices.SortStableFunc(all, func(a, b item) int { return strings.Compare(a.place, b.place) })
	return all, nil
}

// merge adds a thing that a kind of machine has, once.
func merge(all []item, i item, node string) []item {
	at := slices.IndexFunc(all, func(o item) bool {
		return o.place == i.place && o.kind == i.kind && o.name == i.name && o.detail == i.detail
	})
	if at < 0 {
		i.guard = node
		return append(all, i)
	}
	if !strings.Contains(all[at].guard, node) {
		all[at].guard += ", " + node
	}
	return all
}

// partsOf are the items of one machine's user data.
func partsOf(text string) []item {
	var all []item
	place, in := "", "" // the part, and the function or file that a line is in
	for raw := range strings.Lines(text) {
		line := strings.TrimSpace(raw)
		if kind, ok := strings.CutPrefix(line, "Content-Type: text/"); ok {
			place, in = "user data, "+strings.Trim(strings.Fields(kind)[0], ";"), ""
			continue
		}
		if place == "" || strings.HasPrefix(line, "--==") || strings.HasPrefix(line, "MIME-Version") {
			continue
		}
		add := func(kind, name, detail string) {
			all = append(all, item{place: place, kind: kind, name: name, detail: detail})
		}
		if m := cloudKey.FindStringSubmatch(strings.TrimRight(raw, "\n")); m != nil && strings.HasSuffix(place, "cloud-config") {
			add("key", m[1], plain(m[2]))
			continue
		}
		if m := writtenTo.FindStringSubmatch(strings.TrimRight(raw, "\n")); m != nil {
			add("file", plain(m[1]), "")
			continue
		}
		in = shell(line, in, add)
	}
	return all
}

// shell notes what a line of a script does.
func shell(line, in string, add func(kind, name, detail string)) string {
	if strings.HasPrefix(line, "#") {
		return in
	}
	if m := function.FindStringSubmatch(line); m != nil {
		add("function", m[1], "")
		return m[1]
	}
	for _, m := range called.FindAllString(line, -1) {
		add("command", plain(m), in)
	}
	if line == "}" {
		return ""
	}
	return in
}

// plain is a text without the marks of CloudFormation's substitution.
func plain(text string) string {
	return strings.Trim(strings.NewReplacer("${!", "", "${", "", "}", "", `"`, "", "'", "").Replace(text), " ;")
}
