package seal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// keygen runs ssh-keygen, whose word on signatures is the last one.
func keygen(t *testing.T, stdin []byte, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "ssh-keygen", args...)
	c.Stdin = strings.NewReader(string(stdin))
	out, err := c.CombinedOutput()
	return string(out), err
}

// made is a new key of a kind, and the files of a report.
func made(t *testing.T, kind string) (dir string, text []byte) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no ssh-keygen: Debian's openssh-client has it")
	}
	dir, text = t.TempDir(), []byte("{\"schema\": 1}\n")
	if out, err := keygen(t, nil, "-q", "-t", kind, "-N", "", "-C", "a key", "-f", filepath.Join(dir, "key")); err != nil {
		t.Fatal(out)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, text
}

func TestSign_is_proven_by_ssh_keygen(t *testing.T) {
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		t.Run(kind, func(t *testing.T) {
			dir, text := made(t, kind)
			key, err := Load(filepath.Join(dir, "key"))
			if err != nil {
				t.Fatal(err)
			}
			signature, err := key.Sign(text)
			if err != nil {
				t.Fatal(err)
			}
			sig, allowed := filepath.Join(dir, "report.json.sig"), filepath.Join(dir, "allowed")
			for path, content := range map[string]string{sig: string(signature), allowed: key.Public().Allowed("training")} {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			verify := []string{"-Y", "verify", "-f", allowed, "-I", "training", "-n", Namespace, "-s", sig}
			if out, err := keygen(t, text, verify...); err != nil || !strings.Contains(out, key.Public().Fingerprint()) {
				t.Errorf("ssh-keygen refuses it: %s", out)
			}
			if out, err := keygen(t, append(text, ' '), verify...); err == nil {
				t.Errorf("ssh-keygen takes another text: %s", out)
			}
			verify[7] = "git"
			if out, err := keygen(t, text, verify...); err == nil {
				t.Errorf("ssh-keygen takes it for something else: %s", out)
			}
		})
	}
}

func TestProve_takes_what_ssh_keygen_signed(t *testing.T) {
	dir, text := made(t, "ed25519")
	report := filepath.Join(dir, "report.json")
	if out, err := keygen(t, nil, "-Y", "sign", "-n", Namespace, "-f", filepath.Join(dir, "key"), report); err != nil {
		t.Fatal(out)
	}
	signature, err := os.ReadFile(report + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	who, err := Prove(text, signature)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ReadPublic(filepath.Join(dir, "key.pub"))
	if err != nil || !who.Among(keys) {
		t.Errorf("%v: %s is not the key", err, who.Fingerprint())
	}
	for i := range text {
		other := append([]byte{}, text...)
		other[i] ^= 1
		if _, err := Prove(other, signature); err == nil {
			t.Errorf("it takes a text whose byte %d differs", i)
		}
	}
	os.Remove(report + ".sig")
	if out, err := keygen(t, nil, "-Y", "sign", "-n", "file", "-f", filepath.Join(dir, "key"), report); err != nil {
		t.Fatal(out)
	}
	signature, _ = os.ReadFile(report + ".sig")
	if _, err := Prove(text, signature); err == nil {
		t.Error("it takes a signature for something else")
	}
}

func TestReadPublic(t *testing.T) {
	dir, _ := made(t, "ed25519")
	pub, err := os.ReadFile(filepath.Join(dir, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(known, []byte("# head\nhead,10.0.0.4 "+string(pub)), 0o600); err != nil {
		t.Fatal(err)
	}
	if keys, err := ReadPublic(known); err != nil || len(keys) != 1 {
		t.Errorf("%v %v", keys, err)
	}
	if _, err := ReadPublic(filepath.Join(dir, "report.json")); err == nil {
		t.Error("a report is taken for a key")
	}
	if _, err := Load(filepath.Join(dir, "report.json")); err == nil {
		t.Error("a report is taken for a private key")
	}
	locked := filepath.Join(dir, "locked")
	if out, err := keygen(t, nil, "-q", "-t", "ed25519", "-N", "secret", "-f", locked); err != nil {
		t.Fatal(out)
	}
	if _, err := Load(locked); err == nil || !strings.Contains(err.Error(), "it has a passphrase; sign with ssh-keygen -Y sign") {
		t.Errorf("a key with a passphrase: %v", err)
	}
}

func FuzzProve(f *testing.F) {
	f.Add([]byte("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, signature []byte) {
		if who, err := Prove([]byte("text"), signature); err == nil {
			t.Errorf("%s signed a text that nobody signed", who.Fingerprint())
		}
	})
}
