// Package errand does with the files of a job's user what the head node's controller needs
// done, in a process that runs as that user: root follows no path of a user's. It reads logs
// as they grow, finds checkpoints and says which are whole, moves torn ones aside, and writes
// files beside the logs.
//
// The process answers one request after the other on its standard streams and ends with them.
// Its answers are as trustworthy as the user: they are bounded, and decide about his own jobs
// alone.
package errand

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// request is what the process is asked; one of its parts is set.
type request struct {
	Read        *Reading   `json:"read,omitempty"`
	Checkpoints []string   `json:"checkpoints,omitempty"`
	Mend        *Mending   `json:"mend,omitempty"`
	Put         *File      `json:"put,omitempty"`
	Extend      *Extension `json:"extend,omitempty"`
}

// answer is what it says.
type answer struct {
	Error       string       `json:"error,omitempty"`
	Absent      bool         `json:"absent,omitempty"`
	Chunk       *Chunk       `json:"chunk,omitempty"`
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	Diagnosis   *Diagnosis   `json:"diagnosis,omitempty"`
}

// Reading asks for what is new in a file.
type Reading struct {
	Path string `json:"path"`
	// Offset is up to where it was read, Mark the last bytes before that, Inode which file it
	// was, 0 if none was read yet.
	Offset int64  `json:"offset,omitempty"`
	Mark   []byte `json:"mark,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// MostBytes is how much is wanted at once. Of a file that was never read and has more than
	// SkipBytes, only the last SkipBytes are wanted.
	MostBytes int64 `json:"most_bytes"`
	SkipBytes int64 `json:"skip_bytes,omitempty"`
}

// Chunk is a part of a file.
type Chunk struct {
	// Offset is where it begins: 0 again where the file was written anew.
	Offset  int64     `json:"offset"`
	Data    []byte    `json:"data,omitempty"`
	Size    int64     `json:"size"`
	Inode   uint64    `json:"inode"`
	Changed time.Time `json:"changed"`
}

// File is a new file. The name must be free.
type File struct {
	Path string `json:"path"`
	Data []byte `json:"data"`
}

// Extension is what a file has behind SizeBytes from now on, and no more. With 0 the file and its
// directory are made where they are not there.
type Extension struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes,omitempty"`
	Data      []byte `json:"data"`
}

// Checkpoint is a directory or a file that is one.
type Checkpoint struct {
	Dir  string `json:"dir"`
	Step int64  `json:"step"` // checkpoint.NoStep if its name does not say
	// Layout is whose it is.
	Layout string `json:"layout,omitempty"`
	Whole  bool   `json:"whole,omitempty"`
	// Torn says what is missing for good unless it is written again, Doubt why it may be unfinished.
	Torn    string    `json:"torn,omitempty"`
	Doubt   string    `json:"doubt,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
	Changed time.Time `json:"changed"`
	// Pointed says that a pointer names it.
	Pointed bool `json:"pointed,omitempty"`
	// unsure says that it does not say itself whether it is whole, mute that nothing in it does.
	unsure, mute bool
}

// Mending asks what has to be put right in directories of checkpoints before a job goes on, or with
// Repairs to put these right, which may be done twice.
type Mending struct {
	Dirs    []string `json:"dirs,omitempty"`
	Repairs []Repair `json:"repairs,omitempty"`
	// Ended is when the run's last process had ended. What changed later is somebody else's.
	Ended time.Time `json:"ended"`
	// Shrunk is when a run began that had fewer nodes than the one before it: its checkpoints have fewer files than those before.
	Shrunk time.Time `json:"shrunk,omitzero"`
}

// Diagnosis is what has to be put right.
type Diagnosis struct {
	// Repairs are in the order in which they have to be made. Those with Left are not to be made, or
	// were not.
	Repairs []Repair `json:"repairs,omitempty"`
	// Stuck is why the job cannot go on from what is there: checkpoints, and none that is whole.
	Stuck string `json:"stuck,omitempty"`
}

// Repair is a torn checkpoint that moves aside, or a pointer that leads to none that is whole.
type Repair struct {
	Path string `json:"path"`
	// Now is its new name, or what the pointer says then.
	Now string `json:"now,omitempty"`
	// Was is what a pointer says before, and tells it from a checkpoint.
	Was string `json:"was,omitempty"`
	Why string `json:"why"`
	// Left is why it stays, or stayed, as it is.
	Left string `json:"left,omitempty"`
}

// Aside says that it is something that moves, and can be moved back.
func (r Repair) Aside() bool { return r.Was == "" }

// answerLimit bounds an answer, in bytes: a chunk in base64 has room, and many checkpoints.
const answerLimit = 32 << 20

// Serve answers requests until there are no more.
func Serve(in io.Reader, out io.Writer) error {
	requests, answers, s := json.NewDecoder(in), json.NewEncoder(out), &server{}
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if err := answers.Encode(s.do(r)); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}

// server remembers between requests what files of checkpoints said of themselves, by the root of their tree.
type server struct{ known map[string]*checkpoint.Memory }

func (s *server) do(r request) answer {
	var a answer
	var err error
	switch {
	case r.Read != nil:
		a.Chunk, err = read(*r.Read)
	case r.Checkpoints != nil:
		a.Checkpoints, err = s.look(r.Checkpoints, time.Now())
	case r.Mend != nil && len(r.Mend.Repairs) > 0:
		a.Diagnosis = &Diagnosis{Repairs: repair(r.Mend.Repairs, r.Mend.Ended)}
	case r.Mend != nil:
		a.Diagnosis, err = s.diagnose(*r.Mend, time.Now())
	case r.Put != nil:
		err = put(*r.Put)
	case r.Extend != nil:
		err = extend(*r.Extend)
	}
	if err != nil {
		a.Error, a.Absent = err.Error(), errors.Is(err, fs.ErrNotExist)
	}
	return a
}
