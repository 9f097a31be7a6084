package slurm

import "testing"

func TestNextJobID(t *testing.T) {
	const said = "MpiDefault              = none\nNEXT_JOB_ID             = 43\nNodeFeaturesPlugins     = (null)\n"
	if id, err := (Client{Runner: &programs{stdout: said}}).NextJobID(t.Context()); id != 43 || err != nil {
		t.Errorf("got %d, %v", id, err)
	}
	for _, text := range []string{"", "NEXT_JOB_ID", "NEXT_JOB_ID = x", "FirstJobId = 1\n"} {
		if id, err := (Client{Runner: &programs{stdout: text}}).NextJobID(t.Context()); err == nil {
			t.Errorf("%q: got %d", text, id)
		}
	}
}

func TestSavedJobID(t *testing.T) {
	// As slurmctld 22.05.8 wrote it after two jobs.
	const saved = "\x00\x00\x00\x11PROTOCOL_VERSION\x00\x26\x00\x00\x00\x00\x00\x6b\x03\x02\x98\x00\x00\x00\x03\x00\x00\x00\x6b\x03\x02\x93"
	if id, err := SavedJobID([]byte(saved)); id != 3 || err != nil {
		t.Errorf("got %d, %v", id, err)
	}
	for n := range 4 + 17 + 2 + 8 + 4 {
		if id, err := SavedJobID([]byte(saved[:n])); err == nil {
			t.Errorf("of %d bytes: %d", n, id)
		}
	}
	if id, err := SavedJobID([]byte("\x00\x00\x00\x11" + saved[5:])); err == nil {
		t.Errorf("of another text: %d", id)
	}
}
