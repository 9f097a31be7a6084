package place

import (
	"io"

	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/verify"
)

// Answer is what Up and Down have done: what `muster up` and `muster down` print with -o
// json. It only ever gets more fields.
type Answer struct {
	Cluster string      `json:"cluster"`
	Steps   []step.Step `json:"steps"`
	// TestJob is what the test job ran on, nil if none did, and Verify what they and the cluster were found to be.
	TestJob *TestJob       `json:"test_job,omitempty"`
	Verify  *verify.Report `json:"verify,omitempty"`
	// Plan was shown before anything was made, Left is what remains after Down.
	Plan Plan   `json:"plan,omitempty"`
	Left []Left `json:"left,omitempty"`
	// NotExported are files that a cluster left behind and that are not in its buckets.
	NotExported *Unexported `json:"not_exported,omitempty"`
	// Error is what ended the command before its last step.
	Error string `json:"error,omitempty"`
}

// TestJob is a test job that ran: on nodes of a partition, which is empty for Slurm's default.
type TestJob struct {
	Partition string   `json:"partition,omitempty"`
	Nodes     []string `json:"nodes"`
}

// Plan is what Up is about to do, in the place's own words; its JSON, too, is the place's.
type Plan interface {
	// Empty says that there is nothing to do.
	Empty() bool
	// Write writes it for people.
	Write(w io.Writer) error
}

// Left is something that a cluster leaves behind and that may cost.
type Left struct {
	// Kind is in the user's words, such as "file system", ID the place's name of it.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	What string `json:"what,omitempty"`
	// USDPerMonth is what it costs at least, as far as Known.
	USDPerMonth float64 `json:"usd_per_month"`
	// Known says that the price is, Free that it costs nothing by itself.
	Known bool `json:"known"`
	Free  bool `json:"free,omitempty"`
	// Kept says that it was left on purpose, and Why.
	Kept bool   `json:"kept"`
	Why  string `json:"why,omitempty"`
}

// Costs says that it is worth a look.
func (l Left) Costs() bool { return !l.Free && (!l.Known || l.USDPerMonth >= 0.01) }

// Unexported are the files of a cluster that was taken down which are not in its buckets.
// They lie on the shared file systems, and the next Up exports them, but for those that
// are Blocked.
type Unexported struct {
	// Why says why their export was not awaited.
	Why string `json:"why"`
	// Unknown says that there may be more files, as the controller could not be asked.
	Unknown   bool             `json:"unknown,omitempty"`
	Files     int              `json:"files"`
	SizeBytes int64            `json:"size_bytes"`
	Blocked   int              `json:"blocked,omitempty"` // of the files: no Up exports them as they are
	First     []UnexportedFile `json:"first"`             // of the files, as the cluster's machines saw them
	// Dir is the folder of the shared file systems, where they are.
	Dir string `json:"dir"`
}

// UnexportedFile is a file of Unexported.
type UnexportedFile struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	Reason    string `json:"reason"`
	Blocked   bool   `json:"blocked,omitempty"`
}
