package boot

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecureMetadata(t *testing.T) {
	for name, c := range map[string]struct {
		missing []string
		systemd bool
		detail  string
		closed  bool
		ran     []string
	}{
		"iptables":      {nil, false, "root alone, by iptables", true, []string{"ROOT/opt/muster/bin/secure-metadata"}},
		"nft":           {[]string{"iptables"}, false, "root alone, by nft", true, []string{"ROOT/opt/muster/bin/secure-metadata"}},
		"neither":       {[]string{"iptables", "nft"}, true, "blind: this image has neither iptables nor nft, so all users can ask the metadata service", false, nil},
		"every_restart": {nil, true, "root alone, by iptables, also after a restart", true, []string{"ROOT/opt/muster/bin/secure-metadata", "systemctl daemon-reload", "systemctl enable muster-metadata.service"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{missing: c.missing}
			m := machineOf(t, f, "")
			if c.systemd {
				if err := os.MkdirAll(m.path("/run/systemd/system"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			detail, closed, err := m.SecureMetadata(t.Context())
			if err != nil || detail != c.detail || closed != c.closed {
				t.Errorf("got %q, %t, %v", detail, closed, err)
			}
			for i := range f.ran {
				f.ran[i] = strings.ReplaceAll(f.ran[i], m.Root, "ROOT")
			}
			if diff := cmp.Diff(c.ran, f.ran); diff != "" {
				t.Error(diff)
			}
			if c.ran == nil {
				return
			}
			if out, err := exec.CommandContext(t.Context(), "sh", "-n", m.path(metadataProgram)).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
