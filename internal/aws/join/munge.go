package join

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Munge signs and checks the identity of a caller, by the programs
// munge and unmunge. The zero value speaks for root to the machine's own munged.
type Munge struct {
	// Socket is munged's, empty for munge's own choice.
	Socket string
	// UID is the user that both sides must be.
	UID int
}

// What credentials are about: a request's never passes for an answer's.
const (
	aboutRequest = "muster request 1"
	aboutAnswer  = "muster answer 1"
)

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// requestClaim is what a request's credential says.
func requestClaim(path string, body []byte) string {
	return strings.Join([]string{aboutRequest, path, digest(body)}, "\n")
}

// answerClaim is what an answer's credential says: which request it answers, and
// how.
func answerClaim(credential string, status int, body []byte) string {
	return strings.Join([]string{aboutAnswer, digest([]byte(credential)), strconv.Itoa(status), digest(body)}, "\n")
}

// sign makes a credential of a claim, which only the same user can read.
func (m Munge) sign(ctx context.Context, claim string) (string, error) {
	return m.seal(ctx, claim, m.UID)
}

// seal makes a credential of a text, which only a user can read.
func (m Munge) seal(ctx context.Context, text string, uid int) (string, error) {
	out, err := m.run(ctx, text, "munge", "--cipher="+cipher, "--restrict-uid="+strconv.Itoa(uid))
	if err != nil {
		return "", fmt.Errorf("make a credential: %w", err)
	}
	return strings.TrimSpace(out), nil
}

// check tells whether a credential is the user's, fresh, never seen before, and
// makes the claim. munged knows those that it has seen.
func (m Munge) check(ctx context.Context, credential, claim string) error {
	uid, payload, err := m.open(ctx, credential)
	switch {
	case err != nil:
		return err
	case uid != m.UID:
		return fmt.Errorf("%w: the credential is of user %d, not %d", ErrRefused, uid, m.UID)
	case payload != claim:
		return fmt.Errorf("%w: the credential is of something else", ErrRefused)
	}
	return nil
}

// open is whose a credential is and what it says, if it is fresh, never seen before, and the caller may read it.
func (m Munge) open(ctx context.Context, credential string) (uid int, payload string, err error) {
	out, err := m.run(ctx, credential, "unmunge", "--numeric", "--keys=STATUS,UID")
	if err != nil {
		return -1, "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	head, payload, ok := strings.Cut(out, "\n\n")
	facts := map[string]string{}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(line, ":")
		facts[key] = strings.TrimSpace(value)
	}
	uid, err = strconv.Atoi(facts["UID"])
	switch {
	case !ok || facts["STATUS"] == "0" && err != nil:
		return -1, "", fmt.Errorf("%w: unmunge does not say whose the credential is", ErrRefused)
	case facts["STATUS"] != "0":
		return -1, "", fmt.Errorf("%w: the credential has status %q", ErrRefused, facts["STATUS"])
	}
	return uid, payload, nil
}

// mostSaid is how much of a program's complaint is passed on, in bytes.
const mostSaid = 300

func (m Munge) run(ctx context.Context, input, name string, args ...string) (string, error) {
	if m.Socket != "" {
		args = append(args, "--socket="+m.Socket)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	if _, failed := errors.AsType[*exec.ExitError](err); failed && errs.Len() > 0 {
		said := strings.TrimSpace(errs.String())
		return "", errors.New(said[:min(len(said), mostSaid)])
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return out.String(), nil
}
