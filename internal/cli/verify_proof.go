package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/verify"
	sign "github.com/muster-hpc/muster/internal/verify/seal"
)

// proofAnswer is what -o json says of a signature.
type proofAnswer struct {
	Report string `json:"report"`
	// Key is the fingerprint of the key that signed it, Trusted whether it is one that is known: of --key, or of a cluster.
	Key     string         `json:"key"`
	Trusted bool           `json:"trusted"`
	Cluster string         `json:"cluster"`
	Verdict verify.Verdict `json:"verdict"`
	// KnownFrom says whose key it is, as far as that is known.
	KnownFrom string `json:"known_from,omitempty"`
}

// proofFlags are those of `muster verify proof`.
type proofFlags struct{ signature, key string }

func (a *app) verifyProof() *cobra.Command {
	var f proofFlags
	c := &cobra.Command{
		Use:   "proof REPORT",
		Short: "Prove that nobody changed a report since it was signed",
		Long: `Proof holds a report against its signature, and the key that signed it against that
of the head node. REPORT is its file, or the directory that --report made. The head
node's key is taken from the cluster that the report names, if this machine knows
it, or that --cluster names, as muster ssh takes it. --key names a file instead, for
a cluster that others made: a .pub file, lines of known_hosts, or what ssh-keyscan
says of the head node. Exit code 3 says that nobody knows the key.

A cluster that was taken down and made anew has another key.

OpenSSH proves the same without muster, with an allowed_signers file of that key:
  ssh-keygen -Y verify -f FILE -I CLUSTER -n muster-verify \
    -s report.json.sig < report.json`,
		Example: "  muster verify proof acceptance\n  muster verify proof report.json --cluster training\n" +
			"  ssh-keyscan HEAD > head.keys; muster verify proof report.json --key head.keys",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if f.key != "" && c.Flags().Changed("cluster") {
				return fault.Usage(errors.New("--key and --cluster each say whose key it is: leave one of them out"))
			}
			return a.proveReport(c.Context(), reportIn(args[0]), f)
		},
	}
	c.Flags().StringVar(&f.signature, "signature", "", "the signature's `FILE` (default: REPORT.json.sig)")
	c.Flags().StringVar(&f.key, "key", "", "the `FILE` of the public key that should have signed it (default: the head node's)")
	return c
}

// proveReport holds a report against its signature and a key.
func (a *app) proveReport(ctx context.Context, path string, f proofFlags) error {
	if f.key == "" && a.asked() != "" {
		if _, err := a.headKeys(ctx, a.asked()); err != nil {
			return err
		}
	}
	text, err := readBounded(ctx, path, mostReport)
	if err != nil {
		return err
	}
	f.signature = cmp.Or(f.signature, path+".sig")
	signature, err := readBounded(ctx, f.signature, 1<<20)
	if err != nil {
		return err
	}
	who, err := sign.Prove(text, signature)
	if err != nil {
		return fmt.Errorf("prove %s by %s: %w", path, f.signature, err)
	}
	r, err := verify.Parse(text)
	if err != nil {
		return fmt.Errorf("read the report %s: %w", path, err)
	}
	answer := proofAnswer{Report: path, Key: who.Fingerprint(), Cluster: r.Identity.Cluster, Verdict: r.Verdict}
	known, unknown, err := a.signers(ctx, f.key, r.Identity.Cluster)
	if err != nil {
		return err
	}
	if unknown == "" {
		if !who.Among(known.keys) {
			return fmt.Errorf("prove %s: another key signed it, %s; %s has %s. %s", path, who.Fingerprint(), known.whose, sign.Fingerprints(known.keys), known.hint)
		}
		answer.Trusted, answer.KnownFrom = true, known.whose
	}
	return a.sayProof(answer, unknown)
}

// signers are keys that may sign reports, and whose they are. hint is what to do where another one did.
type signers struct {
	keys        []sign.Public
	whose, hint string
}

// signers are the keys of the file that is named, or else those of the head node of a cluster: the one that is named, or the report's
// own. unknown is why nobody knows them, where the user has named none.
func (a *app) signers(ctx context.Context, file, reported string) (s signers, unknown string, err error) {
	if file != "" {
		s.whose, s.hint = file, "Each machine has a key of its own: it is the head node's that signs"
		s.keys, err = sign.ReadPublic(file)
		return s, "", err
	}
	name := a.asked()
	if name == "" && reported == "" {
		return s, "it is of a machine that was looked at alone, and signed by that machine's SSH key", nil
	}
	if name == "" {
		if unknown, err = a.strange(reported); unknown != "" || err != nil {
			return s, unknown, err
		}
		name = reported
	}
	lines, err := a.headKeys(ctx, name)
	s.whose = "the head node of cluster " + name
	s.hint = "If the cluster was made anew since, its key is new: else the report is not its own"
	s.keys = sign.ParsePublic([]byte(strings.Join(lines, "\n")))
	switch {
	case err != nil && a.asked() == "":
		return s, fmt.Sprintf("its key could not be had from the cluster %s: %v", name, err), nil
	case err == nil && len(s.keys) == 0:
		err = fmt.Errorf("ask cluster %s for its head node's keys: it has told none that is one", name)
	}
	return s, "", err
}

// strange is why the cluster of a report cannot be asked, empty if it can: it is one that this machine knows.
func (a *app) strange(name string) (why string, err error) {
	home, err := homeDir()
	if err != nil {
		return "", err
	}
	p, err := having(home, name)
	if err != nil || p != nil {
		return "", err
	}
	return fmt.Sprintf("this machine knows no cluster %q whose head node's key it could be", name), nil
}

// headKeys are the keys of a cluster's head node.
func (a *app) headKeys(ctx context.Context, name string) ([]string, error) {
	one := *a
	one.cluster = name
	w, err := one.find("")
	if err != nil {
		return nil, err
	}
	return w.HostKeys(ctx)
}

// sayProof says who signed. unknown is why it is not known whose key that is, empty if it is.
func (a *app) sayProof(answer proofAnswer, unknown string) error {
	err := a.answer(answer, func() error {
		_, err := fmt.Fprintf(a.out, "nobody changed it since %s signed it%s\n", answer.Key, ofWhom(answer.KnownFrom))
		return err
	})
	if err != nil || answer.Trusted {
		return err
	}
	a.note("%s; --key FILE, or --cluster NAME, says whose it should be", unknown)
	return fault.Exit(fault.ExitLook)
}

func ofWhom(known string) string {
	if known == "" {
		return ""
	}
	return ", a key of " + known
}
