package lint_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestIgnored(t *testing.T) {
	const file = `
Image: {Os: alinux2023}
HeadNode: {InstanceType: c6i.large, Dcv: {Enabled: %s}}
DirectoryService: {DomainName: example.com, DomainAddr: ldaps://example.com, PasswordSecretArn: x, DomainReadOnlyUser: cn=r}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: q
      Networking: {Proxy: {HttpProxyAddress: "http://proxy:3128"}}
      ComputeResources: [{Name: r, InstanceType: c6i.large}]
`
	for dcv, want := range map[string][]string{
		"true": {
			"DirectoryService of the cluster file has no effect: users come from no directory",
			"HeadNode.Dcv.Enabled of the cluster file has no effect: there is no remote desktop",
			"Scheduling.SlurmQueues[0].Networking.Proxy of the cluster file has no effect: machines reach AWS without it",
		},
		"false": {
			"DirectoryService of the cluster file has no effect: users come from no directory",
			"Scheduling.SlurmQueues[0].Networking.Proxy of the cluster file has no effect: machines reach AWS without it",
		},
	} {
		root, ok := spec.OpenText("c.yaml", []byte(fmt.Sprintf(file, dcv)), spec.Options{AWS: true}).Root()
		if !ok {
			t.Fatal("no root")
		}
		if diff := cmp.Diff(want, lint.Ignored(root)); diff != "" {
			t.Errorf("Dcv %s: want -, got +:\n%s", dcv, diff)
		}
	}
}
