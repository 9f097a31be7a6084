package spec

import (
	"slices"
	"strings"
)

// checkAccounted reports what of the cluster file stands against accounts, and what nobody could run.
func checkAccounted(root View, w *Workload, c *Cluster) {
	at := root.Key("Accounts")
	if !at.Present() {
		at = root.Key("QOS")
	}
	enforced := w.Enforced()
	if enforce := root.Key("Enforce"); enforce.Given() && slices.Contains(enforce.Texts(), "associations") && len(w.Accounts) == 0 {
		enforce.Errorf("workload/account", "jobs without an account would be refused, and there are no Accounts").
			WithHint("add Accounts with their Users, or leave associations out")
	}
	if len(w.Accounts) > 0 && len(enforced) > 0 && !slices.ContainsFunc(w.Accounts, func(a Account) bool { return len(a.Users) > 0 }) {
		root.Key("Accounts").Warnf("workload/account", "no account has Users: Slurm refuses everybody's jobs but root's").
			WithHint("add Users to an account: the names with which people log in")
	}
	if c == nil {
		return
	}
	if settings := c.Scheduling.Slurm; settings.ExternalSlurmdbd != nil {
		at.Infof("workload/account", "slurmdbd of the cluster file is another machine's: its QoS and the names of accounts are those of all its clusters")
	}
	for _, s := range c.Scheduling.Slurm.Custom {
		if slices.ContainsFunc(policySettings, func(key string) bool { return strings.EqualFold(key, s.Key) }) {
			at.Infof("workload/setting", "CustomSlurmSettings of the cluster file sets %s, which stays as it is: %s", s.Key, s.Value).
				WithHint("remove it there to have what the accounts and QoS here need")
		}
	}
}

// policySettings are the keys of slurm.conf that follow from accounts and QoS unless the cluster file has them.
var policySettings = []string{
	"AccountingStorageEnforce", "PriorityType", "PriorityWeightAge", "PriorityWeightAssoc", "PriorityWeightFairshare", "PriorityWeightQOS", "PreemptType", "PreemptMode",
}
