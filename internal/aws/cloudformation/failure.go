package cloudformation

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Failure is an operation that did not do what it was to do.
type Failure struct {
	State State
	// First are the failures of their own, in the order in which they happened.
	First []Event
}

// Error names the resource that failed first, and why; then the others.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stack %s is %s", f.State.Name, f.State.Status)
	for i, e := range f.First {
		switch {
		case i == 0:
			b.WriteString(": ")
		case i == 3:
			fmt.Fprintf(&b, "; and %d more failures", len(f.First)-i)
			return b.String()
		default:
			b.WriteString("; ")
		}
		b.WriteString(e.words())
	}
	if len(f.First) == 0 && f.State.Reason != "" {
		b.WriteString(": " + plain(f.State.Reason))
	}
	return b.String()
}

// words say what happened to the resource.
func (e Event) words() string {
	text := e.Resource + " (" + e.Type
	if e.ID != "" {
		text += " " + e.ID
	}
	text += ") " + failures[e.Status]
	if failures[e.Status] == "" {
		text += "is " + e.Status
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// failures are what people read for the statuses of a failed change.
var failures = map[string]string{
	"CREATE_FAILED": "could not be made",
	"UPDATE_FAILED": "could not be changed",
	"DELETE_FAILED": "could not be deleted",
}

// frames are what CloudFormation and its handlers put around a reason.
var frames = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^Resource handler returned message: "(.*)" \(RequestToken: [^()]*\)$`),
		regexp.MustCompile(`^(.*?) ?\((?:Service: [^()]*)?(?:; )?Status Code: [^()]*\)(?: \(SDK Attempt Count: \d+\))?$`),
		regexp.MustCompile(`^(.*?) ?\(Service: [^()]*\)(?: \(SDK Attempt Count: \d+\))?$`),
	}
})

// plain is a reason without what only AWS's support needs.
func plain(reason string) string {
	reason = strings.Join(strings.Fields(reason), " ")
	for _, frame := range frames() {
		if m := frame.FindStringSubmatch(reason); m != nil && m[1] != "" {
			reason = m[1]
		}
	}
	return reason
}

// failure is nil if the operation went well.
func (o *operation) failure(state State) error {
	if state.Good() && !strings.Contains(state.Status, "ROLLBACK") {
		return nil
	}
	f := &Failure{State: state}
	for _, e := range o.events {
		if e.Failed() {
			f.First = append(f.First, e)
		}
	}
	return f
}
