package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Parse reads a report as it was written. An error says where in the text it stands, by line and column. Fields that this
// version does not know are left out: a newer one only has more of them.
func Parse(text []byte) (Report, error) {
	var head struct {
		Schema *int            `json:"schema"`
		Suites json.RawMessage `json:"suites"`
	}
	if err := decode(text, &head); err != nil {
		return Report{}, err
	}
	switch {
	case head.Schema == nil || head.Suites == nil:
		return Report{}, errors.New("it is no report of muster verify: it has no schema or no suites")
	case *head.Schema != 1:
		return Report{}, fmt.Errorf("its schema is %d, and this muster reads 1: it was written by another version", *head.Schema)
	}
	var r Report
	if err := decode(text, &r); err != nil {
		return Report{}, err
	}
	return r, r.sound()
}

// decode reads one JSON value that is all there is.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	err := d.Decode(v)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: it ends too early: it was cut off", placeAt(text, int64(len(text))))
	case errors.As(err, &syntax):
		return fmt.Errorf("%s: it is no JSON: %w", placeAt(text, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("%s: %s is a %s, and should be of another kind", placeAt(text, kind.Offset), orWhole(kind.Field), kind.Value)
	case err != nil:
		return err
	}
	if rest := bytes.TrimLeft(text[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return fmt.Errorf("%s: there is more behind the report", placeAt(text, int64(len(text)-len(rest)+1)))
	}
	return nil
}

func orWhole(field string) string {
	if field == "" {
		return "all of it"
	}
	return field
}

// placeAt is the line and column behind which so many bytes were read, counted from 1.
func placeAt(text []byte, offset int64) string {
	before := text[:min(max(offset-1, 0), int64(len(text)))]
	return fmt.Sprintf("line %d, column %d", 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}

// sound says whether the words of a report are known ones and its matrices speak of nodes that they have.
func (r Report) sound() error {
	for i, s := range r.Suites {
		if !s.Verdict.known() {
			return fmt.Errorf("suites[%d].verdict: there is no verdict %q", i, clip(string(s.Verdict)))
		}
		for n, x := range s.Results {
			if !x.Verdict.known() {
				return fmt.Errorf("suites[%d].results[%d].verdict: there is no verdict %q", i, n, clip(string(x.Verdict)))
			}
		}
		for n, m := range s.Matrices {
			if at := slices.IndexFunc(m.Pairs, func(p Pair) bool { return min(p.A, p.B) < 0 || max(p.A, p.B) >= len(m.Nodes) }); at >= 0 {
				return fmt.Errorf("suites[%d].matrices[%d].pairs[%d]: it is about a node that the matrix has not", i, n, at)
			}
		}
	}
	if !r.Verdict.known() {
		return fmt.Errorf("verdict: there is no verdict %q", clip(string(r.Verdict)))
	}
	return nil
}

func (v Verdict) known() bool { return slices.Contains(worse[:], v) }

// clip is as much of a text from outside as fits in an error.
func clip(text string) string {
	const most = 40
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
