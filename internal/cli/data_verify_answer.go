package cli

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
)

// provenAnswer is what `muster data verify -o json` prints.
type provenAnswer struct {
	Dataset       string         `json:"dataset"`
	Mode          string         `json:"mode"` // head, full, sample, or directory
	Manifest      bool           `json:"manifest"`
	Dir           string         `json:"dir,omitempty"`
	OK            bool           `json:"ok"`
	Proven        fileCount      `json:"proven"`
	Unproven      int64          `json:"unproven"` // of these: what had no checksum to compare with
	Seed          *uint64        `json:"seed,omitempty"`
	Sample        []string       `json:"sample,omitempty"`
	Unpacked      int64          `json:"unpacked,omitempty"`
	Missing       []string       `json:"missing"`
	Extra         []string       `json:"extra"`
	Besides       []string       `json:"besides,omitempty"` // of a directory that is compared with a dataset: objects that are none of it
	Problems      []data.Problem `json:"problems"`
	Counts        provenCounts   `json:"counts"`
	Validator     string         `json:"validator,omitempty"`
	ValidatorExit *int           `json:"validator_exit,omitempty"` // if it does not take the data; -1 if a signal ended it
	Seconds       float64        `json:"seconds"`

	leftOut int64
}

// provenCounts are of all, where the lists beside have some.
type provenCounts struct {
	Missing  int64 `json:"missing"`
	Extra    int64 `json:"extra"`
	Problems int64 `json:"problems"`
	Besides  int64 `json:"besides,omitempty"`
}

// showProven answers, and tells what is wrong file by file.
func (a *app) showProven(v provenAnswer) error {
	a.tellNames("%s is not in the bucket", v.Missing, v.Counts.Missing)
	a.tellProblems(v.Problems, v.Counts.Problems)
	if v.Mode == "directory" {
		a.tellNames("%s is in the bucket, and not in "+page.Printable(v.Dir), v.Extra, v.Counts.Extra)
	}
	if names, all := v.others(); !a.quiet {
		a.tellNames("%s is none of the dataset's files", names, all)
	}
	v.Missing, v.Extra, v.Problems = append([]string{}, v.Missing...), append([]string{}, v.Extra...), append([]data.Problem{}, v.Problems...)
	if err := a.answer(v, func() error {
		_, err := fmt.Fprintln(a.out, page.Printable(v.text()))
		return err
	}); err != nil {
		return err
	}
	return v.exit()
}

// exit is how the command ends. What nobody compared is something to look at, whoever asked for it.
func (v provenAnswer) exit() error {
	switch {
	case !v.OK:
		return fault.Exit(fault.ExitProblem)
	case v.Unproven > 0:
		return fault.Exit(fault.ExitLook)
	}
	return nil
}

// others are the objects that are none of the dataset.
func (v provenAnswer) others() (names []string, all int64) {
	if v.Mode == "directory" {
		return v.Besides, v.Counts.Besides
	}
	return v.Extra, v.Counts.Extra
}

// proof is what the mode proves.
func (v provenAnswer) proof() string {
	switch v.Mode {
	case "head":
		return "with the size, version and checksum of the manifest"
	case "full":
		return "read, every byte as it was pushed"
	case "sample":
		return "fetched, every byte as it was pushed"
	}
	return "the same in both"
}

func (v provenAnswer) text() string {
	wrong := wrongFiles(v.Counts.Missing + v.Counts.Problems)
	if v.Proven.Files == 0 && wrong != "" {
		return wrong
	}
	text := fmt.Sprintf("%s, %s: %s", count.Of(v.Proven.Files, "file"), count.Bytes(v.Proven.Bytes), v.proof())
	if v.Unproven > 0 {
		text += "; " + v.unproven()
	}
	if v.Mode == "directory" && !v.Manifest {
		text += "; there is no manifest"
	}
	if v.Unpacked > 0 {
		text += fmt.Sprintf("; %s unpacked", count.Of(v.Unpacked, "file"))
	}
	if v.leftOut > 0 && v.Mode == "sample" {
		text += fmt.Sprintf("; %s of archives left out", count.Of(v.leftOut, "link"))
	} else if v.leftOut > 0 {
		text += fmt.Sprintf("; %s not compared", count.Of(v.leftOut, "temporary file"))
	}
	if _, all := v.others(); all > 0 {
		text += fmt.Sprintf("; %s besides", count.Of(all, "object"))
	}
	if wrong != "" {
		text += "; " + wrong
	}
	if v.Mode == "directory" && v.Counts.Extra > 0 {
		text += fmt.Sprintf("; %s in the bucket alone", count.Of(v.Counts.Extra, "object"))
	}
	switch {
	case v.ValidatorExit != nil:
		text += "; the validator refuses them"
	case v.Validator != "":
		text += "; the validator takes them"
	}
	return text
}

func wrongFiles(n int64) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 file is not as it should be"
	}
	return fmt.Sprintf("%d files are not as they should be", n)
}

// unproven says what is known of files whose objects have no checksum.
func (v provenAnswer) unproven() string {
	known := "only size and version are known"
	if v.Mode == "directory" {
		known = "only the size is known"
	}
	if v.Unproven == 1 {
		return "1 of them has no checksum in the bucket, and " + known + ": --full reads it"
	}
	return fmt.Sprintf("%d of them have no checksum in the bucket, and %s: --full reads them", v.Unproven, known)
}
