//go:build linux

package suite

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// srun passes lines of up to 1024 bytes on whole (STDIO_MAX_MSG_LEN in src/common/slurm_protocol_defs.h; longer ones may be
// mixed with those of other tasks), so what is longer goes in numbered parts.
const (
	partWord  = "muster-part"
	partBytes = 660 // 880 in base64, and room for the rest
)

// WriteParts writes a node's answer in lines that srun keeps whole.
func WriteParts(w io.Writer, node string, answer []byte) error {
	total := max(1, (len(answer)+partBytes-1)/partBytes)
	for i := range total {
		part := answer[i*partBytes : min(len(answer), (i+1)*partBytes)]
		if _, err := fmt.Fprintf(w, "%s %s %d/%d %s\n", partWord, node, i+1, total, base64.StdEncoding.EncodeToString(part)); err != nil {
			return err
		}
	}
	return nil
}

// mostParts bounds an answer.
const mostParts = 16 << 10

// gathered are the answers of nodes, as far as they have come.
type gathered map[string][][]byte

// take takes a line, and says whether it was a part of an answer.
func (g gathered) take(line string) bool {
	words := strings.Fields(line)
	var i, total int
	if len(words) < 3 || len(words) > 4 || words[0] != partWord {
		return false
	}
	if n, err := fmt.Sscanf(words[2], "%d/%d", &i, &total); n != 2 || err != nil || i < 1 || i > total || total > mostParts {
		return false
	}
	var part []byte
	if len(words) == 4 {
		var err error
		if part, err = base64.StdEncoding.DecodeString(words[3]); err != nil {
			return false
		}
	}
	if g[words[1]] == nil {
		g[words[1]] = make([][]byte, total)
	}
	if len(g[words[1]]) != total {
		return false
	}
	g[words[1]][i-1] = append([]byte{}, part...)
	return true
}

// answer is a node's whole answer, false if it has not come, or only in part.
func (g gathered) answer(node string) ([]byte, bool) {
	parts, ok := g[node]
	if !ok {
		return nil, false
	}
	var all []byte
	for _, p := range parts {
		if p == nil {
			return nil, false
		}
		all = append(all, p...)
	}
	return all, true
}
