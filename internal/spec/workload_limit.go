package spec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/spec/yamledit"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// checkLimits checks what an account or a QOS gives its jobs.
func checkLimits(v View, known []string) {
	for _, name := range v.field.names {
		key := v.Key(name)
		switch {
		case !key.Present() && key.node == nil, key.node != nil && key.node.tag == "bad":
		case strings.Contains(name, "TRES"):
			checkTRES(key, known)
		case strings.HasSuffix(name, "Wall"):
			checkWall(key)
		}
	}
}

// tresNames are the resources that Slurm counts by itself, that muster has it count, and those of the
// cluster file's own AccountingStorageTRES. Slurm takes no limit on others.
func tresNames(c *Cluster) []string {
	names := []string{"cpu", "mem", "energy", "node", "billing", "vmem", "pages", "gres/gpu"}
	if c != nil {
		for _, s := range c.Scheduling.Slurm.Custom {
			if strings.EqualFold(s.Key, "AccountingStorageTRES") {
				names = append(names, strings.Split(strings.ToLower(s.Value), ",")...)
			}
		}
	}
	return names
}

var tresAmount = pattern.New(`^[0-9]{1,15}[KMGTPkmgtp]?$`)

// checkTRES holds Slurm's syntax of amounts: cpu=4,mem=10G,gres/gpu=8.
func checkTRES(v View, known []string) {
	if !v.Given() {
		return
	}
	var seen []string
	for item := range strings.SplitSeq(v.Text(), ",") {
		name, amount, ok := strings.Cut(item, "=")
		lower := strings.ToLower(name)
		switch {
		case !ok || !tresAmount().MatchString(amount):
			v.Errorf("workload/tres", "%s has %s, which is no amount of a resource", v.Name(), quote(item)).
				WithHint("write amounts as node=4,gres/gpu=32,mem=100G; leave out what has no limit")
		case lower == "gpu" || lower == "gpus":
			v.Errorf("workload/tres", "Slurm counts no %s here", quote(name)).WithHint("write gres/gpu=%s", amount)
		case !slices.Contains(known, lower):
			v.Errorf("workload/tres", "Slurm counts no %s here", quote(name)).WithHint("%s", hintOf(lower, known, "it counts"))
		case slices.Contains(seen, lower):
			v.Errorf("workload/tres", "%s says twice how much of %s", v.Name(), quote(name)).WithHint("remove one of them")
		case strings.ContainsAny(amount[len(amount)-1:], "KMGTPkmgtp") && lower != "mem" && lower != "vmem":
			v.Errorf("workload/tres", "an amount of %s is a number, not %s", name, quote(amount)).WithHint("write a number")
		}
		seen = append(seen, lower)
	}
}

var wallForm = pattern.New(`^([0-9]{1,8}|[0-9]{1,8}:[0-9]{2}|[0-9]{1,6}:[0-9]{2}:[0-9]{2}|[0-9]{1,5}-[0-9]{1,2}(:[0-9]{2}){0,2})$`)

// checkWall holds Slurm's syntax of times. YAML may read some of them as numbers or dates, so it is the text that counts.
func checkWall(v View) {
	if v.node.kind != scalar || v.node.null() || !wallForm().MatchString(v.node.value) {
		v.Errorf("workload/time", "%s cannot be %s", v.Name(), v.node.describe()).
			WithHint("write minutes, or a time as 12:00:00 or 7-00:00:00")
	}
}

// checkShares holds what Slurm takes for a share.
func checkShares(v View) {
	if v.node == nil || v.node.tag == "bad" {
		return
	}
	n, err := strconv.ParseUint(v.Text(), 10, 31)
	if v.node.kind != scalar || v.node.null() || v.Text() != "parent" && (err != nil || n < 1) {
		v.Errorf("workload/fairshare", "FairShare cannot be %s", yamledit.Clip(v.node.describe())).
			WithHint("write a number from 1 on, which counts beside those of the same parent, or parent")
	}
}
