// Package policy is what a user wishes for a job: where its checkpoints are, how often it may
// start again, what to do when it fails or hangs.
//
// Wishes stand in a batch script, in lines that are comments to the shell and to sbatch, or on a
// command line, which wins:
//
//	#MUSTER --checkpoints=/fsx/checkpoints/llama --restarts=20
//
// They stand where sbatch looks for its own options, above the first command. Their words are
// those that a shell would read, so that they mean the same in both places; nothing is expanded.
package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Policy is what a user wishes for a job. Its JSON is a promise: fields are added, never changed.
// The zero value starts nothing again; Default is what a job has that says nothing.
type Policy struct {
	// Checkpoints are the directories where the job's checkpoints are. They are absolute, or below
	// the job's working directory.
	Checkpoints []string `json:"checkpoints,omitempty"`
	// Restarts is how often the job may be started again.
	Restarts  int       `json:"restarts"`
	OnFailure OnFailure `json:"on_failure"`
	Hang      Hang      `json:"hang"`
	OnHang    OnHang    `json:"on_hang"`
	// StartUp is how long the job may take until its first step; 0 is what muster finds right.
	StartUp Span `json:"start_up,omitzero"`
	// LogPattern is a regular expression with named groups that finds steps in the job's output,
	// in place of the formats that are known; see Groups.
	LogPattern string `json:"log_pattern,omitempty"`
	// Model is the name of a model of muster.yaml.
	Model string `json:"model,omitempty"`
	// NoDrain leaves nodes at fault in service.
	NoDrain bool `json:"no_drain,omitempty"`
}

// OnFailure is what happens when a job fails.
type OnFailure string

// Requeue starts it again whatever the cause is, Auto if that can help.
const (
	FailureAuto    OnFailure = "auto"
	FailureRequeue OnFailure = "requeue"
	FailureStop    OnFailure = "stop"
)

// OnHang is what happens when a job hangs.
type OnHang string

// Tell only says so.
const (
	HangRequeue OnHang = "requeue"
	HangStop    OnHang = "stop"
	HangTell    OnHang = "tell"
)

// Hang is when a job hangs. The zero value is auto: longer without a step than its own rhythm allows.
type Hang struct {
	// Off never says so.
	Off bool
	// Limit is how long the job may take for a step, 0 if its rhythm says so.
	Limit time.Duration
	// Least is how long it may take at least if its rhythm says so, 0 if muster does.
	Least time.Duration
}

// String is the value of --hang.
func (h Hang) String() string {
	switch {
	case h.Off:
		return "off"
	case h.Limit == 0 && h.Least > 0:
		return leastMark + Span(h.Least).String()
	case h.Limit == 0:
		return "auto"
	}
	return Span(h.Limit).String()
}

// MarshalText gives JSON the value of --hang.
func (h Hang) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hang) UnmarshalText(text []byte) error {
	got, ok := parseHang(string(text))
	if !ok {
		return fmt.Errorf("%q is no limit for a hang", text)
	}
	*h = got
	return nil
}

// Span is a length of time, in JSON such as "1m30s".
type Span time.Duration

// String is the span as --start-up takes it.
func (s Span) String() string { return time.Duration(s).String() }

// MarshalText gives JSON the span's text.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Span) UnmarshalText(text []byte) error {
	d, ok := parseSpan(string(text))
	if !ok {
		return fmt.Errorf("%q is no length of time", text)
	}
	*s = Span(d)
	return nil
}

// defaultRestarts are those of a job that says nothing.
const defaultRestarts = 10

// Default is the policy of a job that wishes nothing.
func Default() Policy {
	return Policy{Restarts: defaultRestarts, OnFailure: FailureAuto, OnHang: HangRequeue}
}

// Equal tells whether two policies are the same.
func (p Policy) Equal(q Policy) bool { return slices.Equal(p.Words(), q.Words()) }

// UnmarshalJSON reads what was written for a policy. What is not there is as in Default, and
// what no option takes is an error.
func (p *Policy) UnmarshalJSON(data []byte) error {
	type fields Policy // without this method
	read := fields(Default())
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if _, list := Default().With(Policy(read).Words()); list.HasErrors() {
		return fmt.Errorf("read a job's policy: %s", list.All()[0].Message)
	}
	*p = Policy(read)
	return nil
}
