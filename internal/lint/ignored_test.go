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
HeadNode: {InstanceType: c6i.large, Dcv: {Enabled: %[1]s}}
DirectoryService: {DomainName: example.com, DomainAddr: ldaps://example.com, PasswordSecretArn: x, DomainReadOnlyUser: cn=r}
DevSettings: {NodePackage: "https://example.com/node.tgz", ClusterTemplate: "https://example.com/t.yaml", Cookbook: {ExtraChefAttributes: "{}"}}
Scheduling:
  Scheduler: slurm
  SlurmSettings: {Dns: {UseEc2Hostnames: %[1]s}}
  SlurmQueues:
    - Name: q
      Networking: {Proxy: {HttpProxyAddress: "http://proxy:3128"}}
      ComputeResources: [{Name: r, InstanceType: c6i.large}]
`
	for dcv, want := range map[string][]string{
		"true": {
			"DirectoryService of the cluster file has no effect: users come from no directory",
			"DevSettings.Cookbook.ExtraChefAttributes of the cluster file has no effect: no cookbook is run",
			"DevSettings.NodePackage of the cluster file has no effect: ParallelCluster's daemons do not run",
			"DevSettings.ClusterTemplate of the cluster file has no effect: the templates are muster's own",
			"Scheduling.SlurmSettings.Dns.UseEc2Hostnames of the cluster file has no effect: machines have the names of their nodes",
			"HeadNode.Dcv.Enabled of the cluster file has no effect: there is no remote desktop",
			"Scheduling.SlurmQueues[0].Networking.Proxy of the cluster file has no effect: machines reach AWS without it",
		},
		"false": {
			"DirectoryService of the cluster file has no effect: users come from no directory",
			"DevSettings.Cookbook.ExtraChefAttributes of the cluster file has no effect: no cookbook is run",
			"DevSettings.NodePackage of the cluster file has no effect: ParallelCluster's daemons do not run",
			"DevSettings.ClusterTemplate of the cluster file has no effect: the templates are muster's own",
			"Scheduling.SlurmQueues[0].Networking.Proxy of the cluster file has no effect: machines reach AWS without it",
		},
	} {
		f := spec.OpenText("c.yaml", []byte(fmt.Sprintf(file, dcv)), spec.Options{AWS: true})
		if diff := cmp.Diff(want, lint.Ignored(f)); diff != "" {
			t.Errorf("Dcv %s: want -, got +:\n%s", dcv, diff)
		}
	}
}
