// Package ras asks NCCL how the ranks of a job are, and reads the answer: text, or JSON from
// NCCL 2.28.7 on. NCCL's RAS service has been on in every process since 2.24; it answers on a
// port of its node for all ranks that it reaches.
//
// What it promises: no answer, however long or odd, makes it wait longer than it was told to or
// keep more than a limit. What an answer means for a job is the caller's matter.
//
// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/ras.html
package ras

// Report is what NCCL says of a job.
type Report struct {
	// Version is NCCL's, if it says so.
	Version string `json:"version,omitempty"`
	// Comms are the communicators, from JSON; text has Groups and Notes instead.
	Comms  []Comm  `json:"comms,omitempty"`
	Groups []Group `json:"groups,omitempty"`
	Notes  []Note  `json:"notes,omitempty"`
	// Silent are processes that did not answer, Dead those that NCCL has given up.
	Silent []Process `json:"silent,omitempty"`
	Dead   []Process `json:"dead,omitempty"`
	// SilentCount and DeadCount are how many there are, also of those that are not named.
	SilentCount int `json:"silent_count,omitempty"`
	DeadCount   int `json:"dead_count,omitempty"`
	// Timeouts are answers that NCCL waited for in vain.
	Timeouts int `json:"timeouts,omitempty"`
}

// Process is a process of the job. Its host is an address, most often; its rank is -1 if it is not
// known, or one of several.
type Process struct {
	Rank int    `json:"rank"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
	GPU  string `json:"gpu,omitempty"`
}

// Comm is a communicator.
type Comm struct {
	// Hash is unique together with Second.
	Hash   string `json:"hash"`
	Second string `json:"second,omitempty"`
	Size   int    `json:"size"`
	Ranks  []Rank `json:"ranks,omitempty"`
}

// Rank is a rank of a communicator, which is the job's rank only in the one of all ranks.
type Rank struct {
	Process
	// Error is NCCL's number of what failed, 0 if nothing did (7 is what goes on).
	Error int `json:"error,omitempty"`
	// Ending says that the communicator is about to be left.
	Ending bool `json:"ending,omitempty"`
	// Launched are how many operations of each kind the rank has begun. They count up when an
	// operation begins, not when it is done.
	Launched map[string]uint64 `json:"launched,omitempty"`
}

// Group is a line of the text's table: communicators that are alike.
type Group struct {
	Number int `json:"number"`
	Comms  int `json:"comms"`
	Nodes  int `json:"nodes"`
	// RanksPerNode may be a range, such as 1-2.
	RanksPerNode string `json:"ranks_per_node"`
	Size         int    `json:"size"`
	Ranks        int    `json:"ranks"`
	// Status is such as RUNNING, Problem such as OK or MISMATCH.
	Status  string `json:"status"`
	Problem string `json:"problem"`
}

// Note is what the text says of one communicator below its table.
type Note struct {
	// Name is such as #0-0, Kind such as MISMATCH.
	Name string `json:"name"`
	Hash string `json:"hash"`
	Kind string `json:"kind"`
	// Operation is the kind that ranks have begun differently often, empty for all kinds together.
	Operation string `json:"operation,omitempty"`
	// Most is the number of operations that Many ranks have begun.
	Most uint64 `json:"most,omitempty"`
	Many int    `json:"many,omitempty"`
	// Odd are the ranks that differ.
	Odd []Odd `json:"odd,omitempty"`
	// Lines are what else it says.
	Lines []string `json:"lines,omitempty"`
}

// Odd is a rank that differs from most.
type Odd struct {
	Process
	// Launched is how many operations it has begun, Status its state, if they are told.
	Launched uint64 `json:"launched,omitempty"`
	Status   string `json:"status,omitempty"`
}
