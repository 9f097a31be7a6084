package main

import (
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/spec"
)

const jobHead = `# The job file

<!-- Written by ` + "`go run ./docs/ref/gen`" + ` from internal/job/jobfile/jobfile.tsv. -->

What a training job is, for ` + "`muster run`" + `, ` + "`muster job submit`" + ` and ` + "`muster job script`" + `; ` + "`muster job init`" + `
writes one. [docs/jobs.md](../jobs.md#write-a-job) says how it is used.

| key | type | required | takes | default | means |
| --- | --- | --- | --- | --- | --- |
`

// jobPage is docs/ref/job-file.md.
func jobPage() string {
	var b strings.Builder
	b.WriteString(jobHead)
	for _, k := range jobfile.Table().Rows() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", k.Path, jobType(k), requiredWords[k.Required],
			strings.ReplaceAll(k.Takes(), "|", `\|`), k.Defaults(), strings.ReplaceAll(k.Use, "|", `\|`))
	}
	return b.String()
}

// jobType is a key's type in words. Rules check what the table calls raw: words and numbers are
// both taken.
func jobType(k spec.Key) string {
	switch {
	case k.Path == "Arguments":
		return "list of texts"
	case k.Type == "raw":
		return "text"
	}
	return typeWords[k.Type]
}
