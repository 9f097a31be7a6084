// Package seal signs a report and proves a signature, in the format of ssh-keygen -Y (SSHSIG), so that who has OpenSSH needs no
// muster to prove one. What is signed is the bytes of the report's file; the namespace keeps a signature from being taken for
// one of something else.
// https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.sshsig
package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Namespace is what signatures of reports are for, as ssh-keygen's -n names it.
const Namespace = "muster-verify"

// HostKeys are where the keys are by which a machine's SSH server is known, the first that is there counts: only root can read them.
func HostKeys() []string {
	return []string{"/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ecdsa_key"}
}

// Bounds of files: no key and no signature is longer.
const mostKey = 1 << 20

// Key signs.
type Key struct{ signer ssh.Signer }

// Public is a key that proves.
type Public struct{ key ssh.PublicKey }

// Load reads a private key without a passphrase from a file.
func Load(path string) (Key, error) {
	text, err := readKey(path)
	if err != nil {
		return Key{}, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return Key{}, fmt.Errorf("read the key %s: it has a passphrase; sign with ssh-keygen -Y sign -n %s -f %s REPORT.json", path, Namespace, path)
	case err != nil:
		return Key{}, fmt.Errorf("read the key %s: %w", path, err)
	}
	return Key{signer}, nil
}

func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostKey+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case len(text) > mostKey:
		return nil, fmt.Errorf("read %s: it is too long for a key", path)
	}
	return text, nil
}

// Public is the key that proves what this one signs.
func (k Key) Public() Public { return Public{k.signer.PublicKey()} }

// Sign is the signature of a text, as ssh-keygen -Y sign writes it.
func (k Key) Sign(text []byte) ([]byte, error) {
	s, err := sshsig.Sign(bytes.NewReader(text), k.signer, sshsig.HashSHA512, Namespace)
	if err != nil {
		return nil, fmt.Errorf("sign with the key %s: %w", k.Public().Fingerprint(), err)
	}
	return sshsig.Armor(s), nil
}

// Fingerprint is the key's, as ssh-keygen -l shows it.
func (p Public) Fingerprint() string { return ssh.FingerprintSHA256(p.key) }

// Allowed is the line of a file of allowed signers that lets this key speak for a name.
func (p Public) Allowed(name string) string {
	return fmt.Sprintf("%s namespaces=%q %s", name, Namespace, ssh.MarshalAuthorizedKey(p.key))
}

// ReadPublic reads the keys of a file: those of a .pub file, of authorized_keys, of known_hosts or of ssh-keyscan.
func ReadPublic(path string) ([]Public, error) {
	text, err := readKey(path)
	if err != nil {
		return nil, err
	}
	keys := ParsePublic(text)
	if len(keys) == 0 {
		return nil, fmt.Errorf("read the key %s: it has no public key of SSH", path)
	}
	return keys, nil
}

// ParsePublic are the keys in lines of such a file. Lines that are no key are left out.
func ParsePublic(text []byte) (keys []Public) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if key, _, _, _, err := ssh.ParseAuthorizedKey(line); err == nil {
			keys = append(keys, Public{key})
		} else if marker, _, key, _, _, err := ssh.ParseKnownHosts(line); err == nil && marker == "" {
			keys = append(keys, Public{key})
		}
	}
	return keys
}

// Fingerprints names keys for people.
func Fingerprints(keys []Public) string {
	var all []string
	for _, k := range keys {
		all = append(all, k.Fingerprint())
	}
	return strings.Join(all, ", ")
}

// Prove says which key signed a text, if the signature is right. Whose key that is, it does not say.
func Prove(text, signature []byte) (Public, error) {
	s, err := sshsig.Unarmor(signature)
	if err != nil {
		return Public{}, fmt.Errorf("read the signature: %w", err)
	}
	if err := sshsig.Verify(bytes.NewReader(text), s, s.PublicKey, s.HashAlgorithm, Namespace); err != nil {
		return Public{}, fmt.Errorf("the signature is not of this text: %w", err)
	}
	return Public{s.PublicKey}, nil
}

// Among says whether the key is one of several.
func (p Public) Among(keys []Public) bool {
	for _, k := range keys {
		if bytes.Equal(k.key.Marshal(), p.key.Marshal()) {
			return true
		}
	}
	return false
}
