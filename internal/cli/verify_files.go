package cli

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/sys/whole"
	"github.com/muster-hpc/muster/internal/verify"
	sign "github.com/muster-hpc/muster/internal/verify/seal"
	"github.com/muster-hpc/muster/internal/verify/sheet"
)

// writeReport writes a report's files into a directory: JSON, its signature, a page and JUnit's XML. It is signed by the key
// of this machine's SSH server, where the caller may read it; otherwise it is not, and that is said.
func (a *app) writeReport(dir string, r verify.Report, keyPath string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	text = append(text, '\n')
	signature, sealed, err := sealReport(text, r.Of(), keyPath)
	if err != nil {
		return err
	}
	page, err := sheet.HTML(r, sheet.Options{Hosts: hostsOf, Report: "report.json", SHA256: fmt.Sprintf("%x", sha256.Sum256(text)), Seal: sealed})
	if err != nil {
		return err
	}
	junit, err := sheet.JUnit(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sig := filepath.Join(dir, "report.json.sig")
	if signature == nil { // one of an earlier report would be wrong
		if err := os.Remove(sig); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, content := range map[string][]byte{"report.json": text, "report.html": page, "report.xml": junit, "report.json.sig": signature} {
		if content == nil {
			continue
		}
		if err := whole.Write(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	at := dir
	if onCloudHead() { // where this command runs, wherever it was typed
		at += " on the head node"
	}
	a.note("the report is in %s: %s", at, sealed)
	return nil
}

// reportPlace makes the directory of a report before anything is looked at, and sees that files can be made in it.
func reportPlace(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of --report: %w", err)
	}
	f, err := os.CreateTemp(dir, ".report-*")
	if err != nil {
		return fmt.Errorf("write into the directory of --report: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// seenByHead refuses what is not below the working directory: a head node on this machine sees no other of this machine's files.
func seenByHead(flag, path string) error {
	here, err := os.Getwd()
	if err != nil || path == "" {
		return err
	}
	if here, err = filepath.EvalSymlinks(here); err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	whole := path
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = filepath.Join(real, rest)
			break
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
	if below, err := filepath.Rel(here, path); err != nil || !filepath.IsLocal(below) {
		return fault.Usage(fmt.Errorf("%s %s: the head node of a cluster on this machine sees of its files only the directory where you are: name something in that", flag, whole))
	}
	return nil
}

// reportIn is the report's file in a directory that --report made, or else the path itself.
func reportIn(path string) string {
	if i, err := os.Stat(path); err == nil && i.IsDir() {
		return filepath.Join(path, "report.json")
	}
	return path
}

// hostKey is the machine's own key that can be read.
func hostKey() (path string, err error) {
	for _, path = range sign.HostKeys() {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			return path, f.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return "", err
}

// sealReport signs a report's text, and says by which key, or why not.
func sealReport(text []byte, cluster, path string) (signature []byte, said string, err error) {
	if path == "" {
		if path, err = hostKey(); err != nil {
			return nil, "it is not signed, as only who reads this machine's SSH key (root) can sign: " + err.Error(), nil
		}
	}
	key, err := sign.Load(path)
	if err != nil {
		return nil, "", err
	}
	signature, err = key.Sign(text)
	if err != nil {
		return nil, "", err
	}
	whose := "this machine's"
	if inside() { // where this runs, and not where its command was typed
		whose = "the head node's"
	}
	return signature, fmt.Sprintf("signed for %s by %s SSH key %s (%s there); muster verify proof, or ssh-keygen -Y verify -n %s, proves it",
		cluster, whose, key.Public().Fingerprint(), path, sign.Namespace), nil
}
