package cli

import (
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

// TestRefusedByAccounts submits what accounts do not allow, with the words of sbatch of 22.05.8, which are those of
// src/common/slurm_errno.c of 22.05 to 25.11, and with what its sacctmgr shows of a user.
func TestRefusedByAccounts(t *testing.T) {
	const policy = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
	const nlp, ops = "nlp||1|||||||4|1||||01:00:00|train||normal,train\n", "ops|gpu|1|||||||||||||||urgent\n"
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, words, held, want string }{
		{"no_account", "Invalid account or account/partition combination specified", "",
			"; $ME has no account on this cluster, which takes no job without one: Users of an account in muster.yaml names who has it"},
		{"another_account", "Invalid account or account/partition combination specified", nlp + ops,
			"; $ME may charge nlp, ops in queue gpu (--account=NAME; without it, the default)"},
		{"another_qos", "Invalid qos specification", nlp + ops,
			"; $ME's jobs may have, in account nlp, normal, train (by default train); in account ops in queue gpu, urgent: --qos=NAME"},
		{"too_many_jobs", "AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: " + policy, nlp,
			"; the jobs of its user in its account that wait and run are as many as they may be; " +
				"limits of $ME's jobs: account nlp: MaxJobs=4, MaxSubmitJobs=1, MaxWall=01:00:00 (QOS normal, train)"},
		{"too_long", "QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission failed: " + policy, ops,
			"; it asks for more time than a job of its QOS may; limits of $ME's jobs: account ops in queue gpu: none but those of its QOS (QOS urgent)"},
		{"policy_alone", policy, nlp, "; limits of $ME's jobs: account nlp: MaxJobs=4, MaxSubmitJobs=1, MaxWall=01:00:00 (QOS normal, train)"},
		{"something_else", "I/O error writing script/output to file", nlp, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.sbatch")
			if err := os.WriteFile(file, []byte("#!/bin/sh\ntrue\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			a := &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
			known := answers{"scontrol show config": "ClusterName             = acct\n", "show partition": "", "--detail show node": "", "show association cluster=acct user=" + me.Username + " format=Account,Partition," + strings.Join(slurm.AssociationKeys, ","): row.held}
			_, err := a.submit(t.Context(), slurm.Client{Runner: refusing{known, row.words}}, batchScript{file: file, called: "a.sbatch", force: true}, jobWishes{})
			own := strings.NewReplacer("\nsbatch: error: Batch job submission failed: ", "; ").Replace(row.words)
			if want := "sbatch does not take a.sbatch: " + own + strings.ReplaceAll(row.want, "$ME", me.Username); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
