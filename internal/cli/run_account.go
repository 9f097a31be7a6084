package cli

import (
	"context"
	"os/user"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

// What sbatch says of a job that its user's accounts do not allow: Slurm's src/common/slurm_errno.c has these
// words from 22.05 to 25.11.
const (
	wrongAccount = "Invalid account or account/partition combination specified"
	wrongQOS     = "Invalid qos specification"
	brokenPolicy = "Job violates accounting/QOS policy"
)

// accountHint goes on from a refusal of sbatch's for an account, a QOS or a limit: what was meant, and
// what would be taken. It is empty for others, and where slurmdbd does not answer.
func accountHint(ctx context.Context, s slurm.Client, refusal string) string {
	asks := func(words string) bool { return strings.Contains(refusal, words) }
	if !asks(wrongAccount) && !asks(wrongQOS) && !asks(brokenPolicy) {
		return ""
	}
	me, err := user.Current()
	if err != nil {
		return ""
	}
	look, cancel := slurm.Limited(ctx)
	defer cancel()
	conf, err := s.Conf(look)
	if err != nil || conf["ClusterName"] == "" {
		return ""
	}
	held, err := s.Entitled(look, conf["ClusterName"], me.Username)
	if err != nil {
		return ""
	}
	switch {
	case len(held) == 0:
		return "; " + me.Username + " has no account on this cluster, which takes no job without one: Users of an account in muster.yaml names who has it"
	case asks(wrongAccount):
		return "; " + me.Username + " may charge " + accountNames(held) + " (--account=NAME; without it, the default)"
	case asks(wrongQOS):
		return "; " + me.Username + "'s jobs may have, " + qualitiesOf(held) + ": --qos=NAME"
	}
	return "; " + limitWords(refusal) + "limits of " + me.Username + "'s jobs: " + limitsOf(held)
}

func accountNames(held []slurm.Association) string {
	var all []string
	for _, a := range held {
		all = append(all, a.Account+inQueue(a))
	}
	return strings.Join(slices.Compact(all), ", ")
}

func inQueue(a slurm.Association) string {
	if a.Partition == "" {
		return ""
	}
	return " in queue " + a.Partition
}

func qualitiesOf(held []slurm.Association) string {
	var all []string
	for _, a := range held {
		text := "no QOS"
		if names := a.Values["QOS"]; names != "" {
			text = strings.ReplaceAll(names, ",", ", ")
		}
		if name := a.Values["DefaultQOS"]; name != "" {
			text += " (by default " + name + ")"
		}
		all = append(all, "in account "+a.Account+inQueue(a)+", "+text)
	}
	return strings.Join(all, "; ")
}

// limitWords are those for the limit that sbatch names in a line of its own before what it says of all.
func limitWords(refusal string) string {
	for line := range strings.SplitSeq(refusal, "; ") {
		if words := job.LimitOf(line); words != "" {
			return words + "; "
		}
	}
	return ""
}

func limitsOf(held []slurm.Association) string {
	var all []string
	for _, a := range held {
		var limits []string
		for _, key := range slurm.AssociationKeys {
			if value := a.Values[key]; value != "" && (strings.HasPrefix(key, "Grp") || strings.HasPrefix(key, "Max")) {
				limits = append(limits, key+"="+value)
			}
		}
		text := "account " + a.Account + inQueue(a) + ": "
		if len(limits) == 0 {
			text += "none but those of its QOS"
		}
		text += strings.Join(limits, ", ")
		if names := a.Values["QOS"]; names != "" {
			text += " (QOS " + strings.ReplaceAll(names, ",", ", ") + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}
