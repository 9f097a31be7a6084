package tail

import (
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	var said Writer
	for _, text := range []string{strings.Repeat("x", 2*kept), "\none\n", "I: 10%\rI: 20%"} {
		if n, err := said.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("wrote %d of %d: %v", n, len(text), err)
		}
	}
	if got := said.Last(1); got != "I: 20%" {
		t.Errorf("the last line is %q", got)
	}
	if got := said.Last(3); got != "one\nI: 10%\nI: 20%" {
		t.Errorf("the last lines are %q", got)
	}
	if len(said.String()) > kept {
		t.Errorf("%d bytes are kept", len(said.String()))
	}
	var none Writer
	if got := none.Last(1); got != "" {
		t.Errorf("no words: %q", got)
	}
}
