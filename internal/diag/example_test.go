package diag_test

import (
	"os"

	"github.com/muster-hpc/muster/internal/diag"
)

// A rule names a path; whoever read the file knows its line.
func ExampleWriteText() {
	list := &diag.List{Locate: func(path string) diag.Place {
		return diag.Place{File: "cluster.yaml", Line: 7, Column: 3, Path: path, Source: "  Instancetype: c6i.4xlarge"}
	}}
	list.Errorf("schema/unknown", "HeadNode.Instancetype", "%q is not a key of HeadNode", "Instancetype").
		WithHint("did you mean %s?", diag.Nearest("Instancetype", []string{"Imds", "InstanceType"}))
	_ = diag.WriteText(os.Stdout, list, false)
	// Output:
	// cluster.yaml:7:3: error: "Instancetype" is not a key of HeadNode [schema/unknown]
	//       Instancetype: c6i.4xlarge
	//       ^
	//   hint: did you mean InstanceType?
}
