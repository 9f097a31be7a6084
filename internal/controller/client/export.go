package client

import "time"

// ExportStatus is the state of one association.
type ExportStatus struct {
	Path   string `json:"path"`
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	Export bool   `json:"export"`
	Import bool   `json:"import"`
	// Pending is how many files wait to be exported, those that cannot be exported
	// among them, at this moment; PendingBytes is what of them is still to be sent.
	Pending      int   `json:"pending"`
	PendingBytes int64 `json:"pending_bytes"`
	// PendingUnknown says that the bucket or the directory could not be looked at:
	// Pending counts only the known files.
	PendingUnknown bool `json:"pending_unknown,omitempty"`
	// WaitsSince is when the oldest of the files changed that could be sent and are not.
	WaitsSince time.Time `json:"waits_since,omitzero"`
	// Waiting are the first of the files that will be exported.
	Waiting []WaitingFile `json:"waiting,omitempty"`
	// Blocked is how many files cannot be exported, BlockedFiles the first of them.
	Blocked      int           `json:"blocked"`
	BlockedFiles []WaitingFile `json:"blocked_files,omitempty"`
	// Uploading are the files that are being sent now.
	Uploading []Uploading `json:"uploading,omitempty"`
	// SentBytes is what was sent since the controller started.
	SentBytes int64 `json:"sent_bytes"`
	// Progress grows whenever anything moves.
	Progress int64 `json:"progress,omitempty"`
	// LastSuccess is when the bucket was last brought up to date, but for the files
	// that cannot be exported.
	LastSuccess time.Time `json:"last_success,omitzero"`
	// Exported and Imported count the files that this controller has copied.
	Exported int       `json:"exported"`
	Imported int       `json:"imported"`
	Removed  int       `json:"removed,omitempty"` // files that went because their objects did
	LastLook time.Time `json:"last_look,omitzero"`
	Error    string    `json:"error,omitempty"`
	// FailsSince is since when each look and round failed.
	FailsSince time.Time `json:"fails_since,omitzero"`
}

// WaitingFile is a file that is not in the bucket as it is, and why.
type WaitingFile struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	Reason    string `json:"reason"`
}

// Uploading is a file on its way to the bucket.
type Uploading struct {
	Path      string    `json:"path"`
	SizeBytes int64     `json:"size_bytes"`
	SentBytes int64     `json:"sent_bytes"`
	Since     time.Time `json:"since"`
}

// AwaitRequest asks for what a directory has now; "" is all that is exported.
type AwaitRequest struct {
	Dir string `json:"dir,omitempty"`
}

// Awaited is what the bucket of one association has of the files that there were when it was asked.
type Awaited struct {
	Path   string `json:"path"`
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	// Files and SizeBytes are what there was.
	Files     int   `json:"files"`
	SizeBytes int64 `json:"size_bytes"`
	// Verified counts the files of which the bucket has every byte, by its own checksums.
	Verified int `json:"verified"`
	// Changed counts those that changed or went meanwhile, LeftAlone those that the policy
	// leaves as the bucket has them.
	Changed   int `json:"changed,omitempty"`
	LeftAlone int `json:"left_alone,omitempty"`
	// Blocked is how many files cannot be exported, BlockedFiles the first of them.
	Blocked      int           `json:"blocked"`
	BlockedFiles []WaitingFile `json:"blocked_files,omitempty"`
	// Missing are files without an object, Different those with another content, Unreadable
	// those that the exporter cannot read.
	Missing    []string `json:"missing,omitempty"`
	Different  []string `json:"different,omitempty"`
	Unreadable []string `json:"unreadable,omitempty"`
}

// OK says that the bucket has all of it.
func (a Awaited) OK() bool {
	return a.Blocked == 0 && len(a.Missing) == 0 && len(a.Different) == 0 && len(a.Unreadable) == 0
}

// Verification is what reading one association back showed.
type Verification struct {
	Path   string `json:"path"`
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	// Matched counts the files whose objects have the same SHA-256.
	Matched int `json:"matched"`
	// Missing are files without an object, Different those with another content,
	// Extra objects whose files are gone.
	Missing   []string `json:"missing,omitempty"`
	Different []string `json:"different,omitempty"`
	Extra     []string `json:"extra,omitempty"`
}
