package meter

import "strings"

// DCGM is what `dcgmi diag` found on the GPUs of a machine, as text or with --json.
type DCGM struct {
	Version string `json:"version,omitempty"`
	Driver  string `json:"driver,omitempty"`
	// Devices are the numbers of the GPUs' models on PCI, such as "2330", one for each GPU, where that is said.
	Devices []string   `json:"devices,omitempty"`
	Tests   []DCGMTest `json:"tests"`
	// Error is why the diagnosis did not run, or not to its end.
	Error string `json:"error,omitempty"`
	Reading
}

// DCGMTest is what a test came to on some devices.
type DCGMTest struct {
	Category string `json:"category,omitempty"`
	Name     string `json:"name"`
	// On is such as "GPU 3", "0,1,2" or "All", empty where the test is about the machine.
	On     string     `json:"on,omitempty"`
	Status DCGMStatus `json:"status"`
	// Messages are what DCGM says about it.
	Messages []DCGMMessage `json:"messages,omitempty"`
}

// String is the test in a line, such as "memory on GPU 3: uncorrectable ECC".
func (t DCGMTest) String() string {
	text := t.Name
	if t.On != "" {
		text += " on " + t.On
	}
	for i, m := range t.Messages {
		if i == 0 {
			text += ": " + m.Text
			continue
		}
		text += "; " + m.Text
	}
	return short(text, WordLimit)
}

// DCGMMessage is a warning of a test. The numbers are those of dcgm_errors.h, 0 where they are not said, as before DCGM 4. Severity 1
// asks for watching, 2 for isolating the device, 4 for triage, 5 for another configuration, 6 for a reset; of DCGM 3 it is the level.
type DCGMMessage struct {
	Text     string `json:"text"`
	ID       int    `json:"id,omitempty"`
	Category int    `json:"category,omitempty"`
	Severity int    `json:"severity,omitempty"`
}

// DCGMStatus is a test's verdict, in lower case: one of those below, or another word, which is no pass.
type DCGMStatus string

// The statuses that DCGM 2 to 4 have.
const (
	DCGMPass   DCGMStatus = "pass"
	DCGMFail   DCGMStatus = "fail"
	DCGMWarn   DCGMStatus = "warn"
	DCGMSkip   DCGMStatus = "skip"
	DCGMNotRun DCGMStatus = "not run"
)

// Failed are the tests that failed.
func (d DCGM) Failed() []DCGMTest {
	var failed []DCGMTest
	for _, t := range d.Tests {
		if t.Status == DCGMFail {
			failed = append(failed, t)
		}
	}
	return failed
}

// Ran says whether a test came to a verdict: a diagnosis that skipped all tests proves nothing.
func (d DCGM) Ran() bool {
	for _, t := range d.Tests {
		if t.Status == DCGMPass || t.Status == DCGMFail || t.Status == DCGMWarn {
			return true
		}
	}
	return false
}

func dcgmStatus(word string) DCGMStatus {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "skipped":
		return DCGMSkip
	case "notrun", "not_run":
		return DCGMNotRun
	}
	return DCGMStatus(clip(word))
}

// ReadDCGM reads what `dcgmi diag` of DCGM 2 to 4 prints.
func ReadDCGM(text []byte) DCGM {
	d := DCGM{Reading: Reading{Whole: true}}
	if body, ok := document(text, "Diagnostic"); ok {
		d.json(body)
	} else {
		t := dcgmText{DCGM: &d}
		for _, l := range lines(text, &d.Reading) {
			t.line(l)
		}
		t.end()
	}
	if d.Error != "" {
		d.lack("%s", d.Error)
	}
	if len(d.Tests) == 0 {
		d.lack("DCGM ran no test")
	}
	return d
}

// dcgmText is a table of dcgmi that is being read.
type dcgmText struct {
	*DCGM
	category string
	message  bool // the last row was one of a warning, which the next may continue
	info     bool // it was one of what is no warning
	table    bool
	closed   bool // the last line of the table is a border without a name
}

// dcgmCell is how many characters of a message are in each row.
const dcgmCell = 45

func (t *dcgmText) line(l line) {
	text := strings.TrimSpace(l.text)
	border := strings.HasPrefix(text, "+-") && strings.Trim(text, "+-") == "" && strings.HasSuffix(text, "+") && strings.Count(text, "+") == 3
	t.closed = border || t.closed && text == ""
	switch {
	case strings.HasPrefix(text, "Error:") || strings.HasPrefix(text, "Unable to"):
		t.Error = clip(text)
	case strings.Contains(text, "-----  "):
		t.category = clip(strings.Trim(text, "|+- "))
		t.table, t.message, t.info = true, false, false
	case strings.HasPrefix(text, "|"):
		t.table = true
		cells := strings.SplitN(strings.TrimSuffix(text, "|"), "|", 3)
		if len(cells) < 3 {
			t.lack("line %d is cut off: %s", l.number, l.quoted())
			return
		}
		t.row(strings.TrimSpace(cells[1]), strings.TrimRight(strings.TrimPrefix(cells[2], " "), " "))
	}
}

func (t *dcgmText) row(name, value string) {
	kind, on, _ := strings.Cut(name, ":")
	switch {
	case t.category == "Metadata":
		t.metadata(name, value)
	case name == "Diagnostic" && value == "Result":
	case kind == "Info":
		t.message, t.info = false, true
	case kind == "Warning" || kind == "Error":
		t.say(kind, strings.TrimSpace(on), value)
	case name == "" && t.info:
	case name == "" && t.message:
		t.more(value)
	case name == "" && len(t.Tests) > 0:
		t.test(t.Tests[len(t.Tests)-1].Name, value)
	case name != "":
		t.test(clip(name), value)
	}
}

func (t *dcgmText) metadata(name, value string) {
	switch name {
	case "DCGM Version":
		t.Version = clip(value)
	case "Driver Version Detected":
		t.Driver = clip(value)
	case "GPU Device IDs Detected":
		for id := range strings.SplitSeq(value, ",") {
			t.Devices = keep(t.Devices, clip(strings.TrimSpace(id)))
		}
	}
}

// test reads "Pass", "Fail - GPU: 0" of DCGM 3, and "GPU0: Fail" of DCGM 4.
func (t *dcgmText) test(name, value string) {
	status, on, _ := strings.Cut(value, " - ")
	if device, said, ok := strings.Cut(value, ": "); ok && on == "" {
		status, on = said, device
	}
	t.message, t.info = false, false
	t.Tests = keep(t.Tests, DCGMTest{Category: t.category, Name: name, On: clip(strings.TrimSpace(on)), Status: dcgmStatus(status)})
}

// say adds a message to the test that it follows. An error that follows none is a failure of its own.
func (t *dcgmText) say(kind, on, value string) {
	t.message, t.info = true, false
	last := len(t.Tests) - 1
	if last < 0 || kind == "Error" && t.Tests[last].Status == DCGMPass {
		status := DCGMStatus(strings.ToLower(kind))
		if kind == "Error" {
			status = DCGMFail
		}
		t.Tests = keep(t.Tests, DCGMTest{Category: t.category, Name: kind, On: clip(on), Status: status})
		last = len(t.Tests) - 1
	}
	test := &t.Tests[last]
	test.Messages = keep(test.Messages, DCGMMessage{Text: clip(value)})
}

// more continues a message: rows are cut after as many characters, also in the midst of words.
func (t *dcgmText) more(value string) {
	test := &t.Tests[len(t.Tests)-1]
	last := &test.Messages[len(test.Messages)-1].Text
	if over := len(*last) % dcgmCell; over != 0 && over > dcgmCell-3 {
		*last += strings.Repeat(" ", dcgmCell-over)
	}
	*last = short(*last+clip(value), WordLimit)
}

func (t *dcgmText) end() {
	if !t.table {
		t.lack("there is no table of dcgmi")
	} else if !t.closed {
		t.lack("the end of the table is missing")
	}
}
