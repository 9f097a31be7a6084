package trainlog

import (
	"bytes"
	"strings"

	"github.com/muster-hpc/muster/internal/job/message"
)

// beginning reads a line that begins with a message.
func beginning(text []byte, s *Sign) bool {
	return s.message(message.Line, clip(text))
}

// message takes in a message of a place, if there is one in a text.
func (s *Sign) message(w message.Where, text string) bool {
	r, ok := message.Find(w, text)
	if ok {
		s.Kind, s.Where, s.Name = Message, w, r.Key()
	}
	return ok
}

// ofSlurm reads an error of slurmstepd's or srun's: "slurmstepd: error: execve(): python: No such file or directory". Up to Slurm
// 24.11 slurmstepd names its node: "slurmstepd-node: error: ".
func ofSlurm(text []byte, s *Sign) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("srun: "))
	if !ok {
		var who []byte
		who, rest, ok = bytes.Cut(bytes.TrimSpace(text), []byte(": "))
		if !ok || !bytes.HasPrefix(who, []byte("slurmstepd")) || bytes.ContainsRune(who, ' ') {
			return false
		}
	}
	said, ok := bytes.CutPrefix(rest, []byte("error: "))
	if !ok {
		said, ok = bytes.CutPrefix(rest, []byte("fatal: "))
	}
	if !ok || !s.message(message.Slurm, clip(said)) {
		return false
	}
	s.Node = stepdNode(text)
	if node, ok := between(said, " failed on node ", ":"); ok {
		s.Node = node
	}
	return true
}

// usage reads what argparse says of wrong arguments: "train.py: error: unrecognized arguments: --learning-rat 3e-4". A program
// ends with exit code 2 then.
func usage(text []byte, s *Sign) bool {
	program, said, _ := bytes.Cut(text, []byte(": error: "))
	const longest = 80
	if len(program) == 0 || len(program) > longest || bytes.ContainsAny(program, `:"'`) {
		return false
	}
	s.ExitCode = 2
	return s.message(message.Usage, strings.TrimSpace(clip(said)))
}
