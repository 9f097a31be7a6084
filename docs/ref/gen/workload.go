package main

import (
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

const workloadHead = `# muster.yaml

<!-- Written by ` + "`go run ./docs/ref/gen`" + ` from internal/spec/workload.tsv. -->

The file beside the cluster file, for what has no place in AWS ParallelCluster's schema. All
of it is optional; a key that is there is checked as strictly as those of the cluster file.

| key | type | required | takes | default | means |
| --- | --- | --- | --- | --- | --- |
`

// workloadPage is docs/ref/muster-yaml.md.
func workloadPage() string {
	var b strings.Builder
	b.WriteString(workloadHead)
	for _, k := range spec.WorkloadRows() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", k.Path, typeWords[k.Type], requiredWords[k.Required],
			strings.ReplaceAll(k.Takes(), "|", `\|`), k.Defaults(), k.Use)
	}
	return b.String()
}
