package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/verify"
	sign "github.com/muster-hpc/muster/internal/verify/seal"
)

// proofAnswer is what -o json says of a signature.
type proofAnswer struct {
	Report string `json:"report"`
	// Key is the fingerprint of the key that signed it, Trusted whether it is one that was named with --key.
	Key     string         `json:"key"`
	Trusted bool           `json:"trusted"`
	Cluster string         `json:"cluster"`
	Verdict verify.Verdict `json:"verdict"`
}

func (a *app) verifyProof() *cobra.Command {
	var signature, key string
	c := &cobra.Command{
		Use:   "proof REPORT.json",
		Short: "Prove that nobody changed a report since it was signed",
		Long: `Proof holds a report against its signature. With --key it also says whether the key
is the one you know: a .pub file, a line of known_hosts, or what ssh-keyscan says
of the head node. Without it, exit code 3 says that the key is to be looked at.

OpenSSH proves the same without muster, with an allowed_signers file of that key:
  ssh-keygen -Y verify -f FILE -I CLUSTER -n muster-verify \
    -s REPORT.json.sig < REPORT.json`,
		Example: "  muster verify proof report.json --key head.pub\n  ssh-keyscan -t ed25519 HEAD > head.keys; muster verify proof report.json --key head.keys",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.proveReport(args[0], cmp.Or(signature, args[0]+".sig"), key)
		},
	}
	c.Flags().StringVar(&signature, "signature", "", "the signature's `FILE` (default: REPORT.json.sig)")
	c.Flags().StringVar(&key, "key", "", "the `FILE` of the public key that should have signed it")
	return c
}

// proveReport holds a report against its signature and a key.
func (a *app) proveReport(path, signaturePath, keyPath string) error {
	text, err := readBounded(path, mostReport)
	if err != nil {
		return err
	}
	signature, err := readBounded(signaturePath, 1<<20)
	if err != nil {
		return err
	}
	who, err := sign.Prove(text, signature)
	if err != nil {
		return fmt.Errorf("prove %s by %s: %w", path, signaturePath, err)
	}
	r, err := verify.Parse(text)
	if err != nil {
		return fmt.Errorf("read the report %s: %w", path, err)
	}
	answer := proofAnswer{Report: path, Key: who.Fingerprint(), Cluster: r.Identity.Cluster, Verdict: r.Verdict}
	if keyPath != "" {
		keys, err := sign.ReadPublic(keyPath)
		if err != nil {
			return err
		}
		if !who.Among(keys) {
			return fmt.Errorf("prove %s: it was signed by %s, which %s has not", path, who.Fingerprint(), keyPath)
		}
		answer.Trusted = true
	}
	return a.sayProof(answer)
}

func (a *app) sayProof(answer proofAnswer) error {
	err := a.answer(answer, func() error {
		_, err := fmt.Fprintf(a.out, "nobody changed it since %s signed it\n", answer.Key)
		return err
	})
	if err != nil || answer.Trusted {
		return err
	}
	a.note("whose key that is, --key says")
	return fault.Exit(fault.ExitLook)
}
