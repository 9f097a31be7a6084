package lint_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/catalog"
)

var corpusTo = flag.String("corpus", "", "a folder into which the corpus is written, for bench/oracle")

const oracleDir = "testdata/parallelcluster"

// oracleCase is a cluster file of the corpus: a base file with changes.
//
//	= gpu                                the cases below change base/gpu.yaml
//	the base
//	Region = mars & Image.Os = alinux2   two changes
//	text: Region: -> Regio:              a change of the file's text
//
// In texts \n is a line's end. Changes are as in the fixtures of rules.
type oracleCase struct{ base, change string }

func (c oracleCase) String() string { return c.base + ": " + c.change }

// corpus are the cases of all lists whose names match.
func corpus(t *testing.T, pattern string) []oracleCase {
	t.Helper()
	var all []oracleCase
	seen := map[oracleCase]bool{}
	files, _ := filepath.Glob(oracleDir + "/corpus/" + pattern)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := ""
		for n, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
			switch {
			case line == "", strings.HasPrefix(line, "# "):
				continue
			case strings.HasPrefix(line, "= "):
				base = strings.TrimPrefix(line, "= ")
				continue
			}
			c := oracleCase{base, line}
			if seen[c] {
				t.Errorf("%s:%d: %s is there twice", file, n+1, c)
			}
			seen[c] = true
			all = append(all, c)
		}
	}
	return all
}

// document is the case's file. Text that is changed must be there.
func (c oracleCase) document() ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(oracleDir, "base", c.base+".yaml"))
	if err != nil || c.change == "the base" {
		return data, err
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	changes := strings.Split(c.change, " & ")
	for _, one := range changes {
		if strings.HasPrefix(one, "text: ") {
			continue
		}
		if err := apply(tree.Content[0], one); err != nil {
			return nil, err
		}
	}
	if len(changes) > 1 || !strings.HasPrefix(c.change, "text: ") {
		if data, err = yaml.Marshal(&tree); err != nil {
			return nil, err
		}
	}
	for _, one := range changes {
		if one, ok := strings.CutPrefix(one, "text: "); ok {
			if data, err = applyText(data, one); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

func apply(root *yaml.Node, change string) error {
	path, text, ok := strings.Cut(change, " = ")
	if !ok {
		return fmt.Errorf("%q is no change", change)
	}
	var value yaml.Node
	if err := yaml.Unmarshal([]byte(text), &value); err != nil || len(value.Content) == 0 {
		return fmt.Errorf("%s: %q is no value: %w", path, text, err)
	}
	if err := set(root, path, value.Content[0], text == "~~"); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func applyText(data []byte, change string) ([]byte, error) {
	before, after, ok := strings.Cut(change, " -> ")
	lines := strings.NewReplacer(`\n`, "\n")
	before, after = lines.Replace(before), lines.Replace(after)
	if !ok || !strings.Contains(string(data), before) {
		return nil, fmt.Errorf("%q is not in the file", before)
	}
	return []byte(strings.Replace(string(data), before, after, 1)), nil
}

// TestCorpus builds every file of the corpus, and holds the facts that
// ParallelCluster was told to the catalog. With -corpus it writes all of it, for
// ParallelCluster.
func TestCorpus(t *testing.T) {
	all := corpus(t, "*.txt")
	if len(all) < 500 {
		t.Errorf("the corpus has %d files", len(all))
	}
	var index strings.Builder
	for i, c := range all {
		data, err := c.document()
		if err != nil {
			t.Errorf("%s: %v", c, err)
			continue
		}
		if *corpusTo != "" {
			fmt.Fprintf(&index, "%s\n", c)
			write(t, fmt.Sprintf("%05d.yaml", i), data)
		}
	}
	facts, err := json.MarshalIndent(instanceFacts(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if *corpusTo != "" {
		write(t, "index.txt", []byte(index.String()))
		write(t, "facts.json", facts)
		return
	}
	told, err := os.ReadFile(oracleDir + "/facts.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(told) != string(facts) {
		t.Error("the catalog knows other facts of instance types than ParallelCluster was told; run bench/oracle/run")
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(*corpusTo, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// typesOfCorpus are the instance types that AWS has for the corpus.
var typesOfCorpus = []string{
	"c5.large", "c6a.4xlarge", "c6i.2xlarge", "c6i.4xlarge", "c6i.large", "c6i.xlarge", "c7g.4xlarge", "c7g.xlarge",
	"dl2q.24xlarge", "g4dn.12xlarge", "g4dn.8xlarge", "g4dn.xlarge", "g5.12xlarge", "g5.48xlarge", "g5.xlarge", "g5g.xlarge",
	"g6.12xlarge", "inf1.xlarge", "inf2.xlarge", "m6i.2xlarge", "m6i.4xlarge", "m6i.large", "m6i.xlarge", "p3.2xlarge",
	"p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge",
	"r6i.2xlarge", "r6i.large", "t2.micro", "t3.large", "t3.micro", "t3.nano", "t4g.micro", "trn1.32xlarge",
}

// instanceFact is what fakeaws.py answers with.
type instanceFact struct {
	VCPUs               int      `json:"vcpus"`
	ThreadsPerCore      int      `json:"threads_per_core"`
	MemoryMiB           int      `json:"memory_mib"`
	Arch                string   `json:"arch"`
	GPUs                int      `json:"gpus"`
	GPUMaker            string   `json:"gpu_maker"`
	Accelerators        int      `json:"accelerators"`
	AcceleratorMaker    string   `json:"accelerator_maker"`
	EFA                 int      `json:"efa"`
	Cards               int      `json:"cards"`
	InterfacesPerCard   int      `json:"interfaces_per_card"`
	NVMe                bool     `json:"nvme"`
	UsageClasses        []string `json:"usage_classes"`
	PlacementStrategies []string `json:"placement_strategies"`
}

// old is too old for the catalog, and ParallelCluster has a rule about it.
var old = catalog.Instance{
	Type: "p3.2xlarge", VCPUs: 8, ThreadsPerCore: 2, MemoryMiB: 62464, Arch: "amd64", GPU: catalog.GPU{Count: 1},
}

func instanceFacts() map[string]instanceFact {
	facts := map[string]instanceFact{}
	for _, name := range typesOfCorpus {
		in, ok := catalog.Lookup(name)
		if name == old.Type {
			in = old
		} else if !ok {
			panic("the catalog has no " + name)
		}
		facts[name] = factOf(in)
	}
	return facts
}

// factOf is a type in the words of EC2's answers.
func factOf(in catalog.Instance) instanceFact {
	traits, ok := catalog.TraitsOf(in.Type)
	if in.Type == old.Type {
		traits = catalog.Traits{Cards: 1, ClusterGroup: true, Spot: true}
	} else if !ok {
		panic("the catalog has no traits of " + in.Type)
	}
	f := instanceFact{
		VCPUs: in.VCPUs, ThreadsPerCore: in.ThreadsPerCore, MemoryMiB: in.MemoryMiB,
		Arch: map[string]string{"amd64": "x86_64", "arm64": "arm64"}[in.Arch],
		GPUs: in.GPU.Count, GPUMaker: "NVIDIA",
		Accelerators: in.AcceleratorCount, AcceleratorMaker: "AWS",
		EFA: traits.EFA, Cards: traits.Cards, InterfacesPerCard: 2, NVMe: in.HasDisks(),
		UsageClasses:        []string{"on-demand"},
		PlacementStrategies: []string{"partition", "spread"},
	}
	if strings.HasPrefix(in.Accelerator, "qualcomm") {
		f.AcceleratorMaker = "Qualcomm"
	}
	if traits.ClusterGroup {
		f.PlacementStrategies = append(f.PlacementStrategies, "cluster")
	}
	if traits.Spot {
		f.UsageClasses = append(f.UsageClasses, "spot")
	}
	if traits.CapacityBlock {
		f.UsageClasses = append(f.UsageClasses, "capacity-block")
	}
	return f
}
