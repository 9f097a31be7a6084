package spec

import "time"

// Timeouts are how long machines may take to boot, their scripts included.
type Timeouts struct{ HeadNode, ComputeNode time.Duration }

// Event is when a machine runs scripts of the cluster file, as the file calls it.
type Event string

// Events. A compute node has no OnNodeUpdated.
const (
	OnNodeStart      Event = "OnNodeStart"
	OnNodeConfigured Event = "OnNodeConfigured"
	OnNodeUpdated    Event = "OnNodeUpdated"
)

// CustomActions are the scripts of a machine for each event, in their order. They are
// nil if the file has none for the machine.
type CustomActions map[Event][]Script

// Script is a script of the cluster file that a machine runs.
type Script struct {
	// URL begins with s3:// or https://.
	URL  string
	Args []string
}

// build reads both forms of an event: one Script, or a Sequence.
func (c *CustomActions) build(v View) {
	if !v.Present() {
		return
	}
	all := CustomActions{}
	*c = all
	for _, event := range []Event{OnNodeStart, OnNodeConfigured, OnNodeUpdated} {
		if v.field.child(string(event)) == nil {
			continue
		}
		one := v.Key(string(event))
		for _, s := range append(one.Key("Sequence").Items(), one) {
			if url := s.Key("Script"); url.Present() {
				all[event] = append(all[event], Script{URL: url.Text(), Args: s.Key("Args").Texts()})
			}
		}
	}
}

func (t *Timeouts) build(v View) {
	limit := func(key string) time.Duration { return time.Duration(v.Key(key).Int()) * time.Second }
	*t = Timeouts{HeadNode: limit("HeadNodeBootstrapTimeout"), ComputeNode: limit("ComputeNodeBootstrapTimeout")}
}
