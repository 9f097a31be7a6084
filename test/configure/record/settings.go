package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// settingsFile are templates of which each setting is noted: Slurm's, NFS's and the
// GPUs' files and units, and the daemons of supervisord.
var settingsFile = regexp.MustCompile(`^(slurm\w*\.service|slurm\.conf|slurm_parallelcluster\w*\.conf|cgroup\.conf|slurmdbd\.conf|slurm\.sysconfig|.*nfs.*\.conf|parallelcluster_supervisord\.conf|parallelcluster_nvidia_service|slurmd_nvidia_persistenced\.conf)(\.erb)?$`)

var (
	setting = regexp.MustCompile(`^\s*([A-Za-z][\w.-]*)\s*=\s*(.*)$`)
	section = regexp.MustCompile(`^\[([^\]]+)\]$`)
	marks   = regexp.MustCompile(`\{#.*?#\}`)
	filled  = regexp.MustCompile(`<%=?.*?%>|\{\{.*?\}\}|\{%.*?%\}`)
)

// settings notes what a template sets.
func (w *walk) settings(e *entry) {
	patterns := []string{"templates/" + e.from, "templates/*/" + e.from, "templates/*/*/" + e.from}
	if e.kind == "remote_directory" {
		patterns = []string{"files/*/" + e.from + "/templates/*.conf"}
	}
	for _, path := range w.files(patterns...) {
		if !settingsFile.MatchString(filepath.Base(path)) || w.seen[path] {
			continue
		}
		w.seen[path] = true
		text, err := os.ReadFile(path)
		if err != nil {
			w.err = err
			return
		}
		in := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(marks.ReplaceAllString(line, ""))
			if m := section.FindStringSubmatch(line); m != nil {
				in = m[1] + "/"
			}
			if m := setting.FindStringSubmatch(line); m != nil && (!strings.Contains(path, "supervisord") || m[1] == "command") {
				value := strings.TrimSpace(filled.ReplaceAllString(m[2], "…"))
				w.found = append(w.found, item{place: "template " + strings.TrimSuffix(filepath.Base(path), ".erb"), kind: "setting", name: in + m[1], detail: value})
			}
		}
	}
}
