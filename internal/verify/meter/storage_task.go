package meter

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// StorageTask is the line that one task of `muster agent verify storage` prints: what it measured on one directory from one node.
type StorageTask struct {
	// Phase is write, read, meta, end or all; Node and Task are who measured; Run names the directory that the tasks of a run share.
	Phase string `json:"phase"`
	Node  string `json:"node"`
	Task  int    `json:"task"`
	Run   string `json:"run"`
	// Dir is where it was measured, FS the kernel's name of its file system.
	Dir string `json:"dir"`
	FS  string `json:"fs,omitempty"`
	// By is what measured: muster.
	By    string         `json:"by"`
	Write *StorageRate   `json:"write,omitempty"`
	Read  *StorageRate   `json:"read,omitempty"`
	Meta  *MetadataRates `json:"meta,omitempty"`
	// Notes are what a reader of the numbers has to know.
	Notes []string `json:"notes,omitempty"`
	// Fault is what kept it from an answer, empty if nothing did; Error says so in words.
	Fault StorageFault `json:"fault,omitempty"`
	Error string       `json:"error,omitempty"`
}

// StorageFault is a class of why a task could not measure.
type StorageFault string

// What can keep a task from its measurement. Damaged is bytes that were read and are not those that were written.
const (
	FaultMissing    StorageFault = "missing"
	FaultPermission StorageFault = "permission"
	FaultReadOnly   StorageFault = "read-only"
	FaultSpace      StorageFault = "space"
	FaultFull       StorageFault = "full"
	FaultStale      StorageFault = "stale"
	FaultIO         StorageFault = "io"
	FaultDamaged    StorageFault = "damaged"
	FaultStopped    StorageFault = "stopped"
	FaultOther      StorageFault = "other"
)

// StorageRate is a sequential write or read.
type StorageRate struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// Direct says that the page cache had no part in it; otherwise it was written through, or dropped before it was read.
	Direct bool `json:"direct"`
	// Of is the node whose files were read.
	Of string `json:"of,omitempty"`
	// Blind is why the number says nothing about the file system, empty if it does.
	Blind string `json:"blind,omitempty"`
}

// GBps is in units of 10^9 bytes a second, 0 if there was no time.
func (r *StorageRate) GBps() float64 {
	if r == nil || r.Seconds <= 0 {
		return 0
	}
	return float64(r.Bytes) / r.Seconds / 1e9
}

// MetadataRates are operations a second on empty files, 0 where they were not measured.
type MetadataRates struct {
	Files  int     `json:"files"`
	Create float64 `json:"create"`
	Stat   float64 `json:"stat"`
	Remove float64 `json:"remove"`
}

// storageLine is how long a line may be: less than what a pipe keeps in one piece beside other writers'.
const storageLine = 1000

// Line is the task as one line of JSON of less than 1000 bytes: words that are too many are cut.
func (t StorageTask) Line() string {
	for most := 300; ; most /= 2 {
		short := t
		short.Error, short.Notes = shorten(t.Error, most), nil
		for _, n := range t.Notes {
			short.Notes = append(short.Notes, shorten(n, most/2))
		}
		short.Dir, short.Node = shorten(t.Dir, max(most, 60)), shorten(t.Node, max(most, 60))
		data, err := json.Marshal(short)
		if err != nil {
			return `{"fault":"other","error":"a number was none"}`
		}
		if len(data) < storageLine || most == 0 {
			return string(data)
		}
	}
}

// shorten keeps the first bytes of a text, whole characters alone.
func shorten(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// ReadStorageTask reads a line that Line wrote. Numbers that cannot be are refused.
func ReadStorageTask(line string) (StorageTask, error) {
	var t StorageTask
	if len(line) > 4*storageLine {
		return t, fmt.Errorf("read a task's line: it has %d bytes", len(line))
	}
	if err := json.Unmarshal([]byte(line), &t); err != nil {
		return t, fmt.Errorf("read a task's line: %w", err)
	}
	if t.Phase == "" || t.Node == "" {
		return t, fmt.Errorf("read a task's line: it names no phase and node")
	}
	for _, r := range []*StorageRate{t.Write, t.Read} {
		if r != nil && (r.Bytes < 0 || r.Seconds < 0) {
			return t, fmt.Errorf("read a task's line: a rate is negative")
		}
	}
	return t, nil
}
