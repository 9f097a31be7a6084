package slurm

import "strings"

// Policy is what slurm.conf says of accounts and QoS. The zero value is nothing: jobs are held to
// nothing, and age and the order of submission alone decide.
type Policy struct {
	// Enforce are what jobs are held to.
	Enforce []string
	// Shares says that priorities follow from shares and QoS.
	Shares bool
	// Preempt says that jobs give way to those of other QoS.
	Preempt bool
}

// Weights of priorities: a QoS counts more than any share, and a share more than a week of waiting.
const (
	weightAge       = 1_000
	weightFairshare = 100_000
	weightQOS       = 1_000_000
)

// policy writes what the user's own settings do not say. Without accounting there is nobody who knows
// accounts and QoS, and Slurm would refuse each job.
func (c Config) policy(set func(string, any)) {
	own := func(key string, value any) {
		if !c.customised(key) {
			set(key, value)
		}
	}
	if c.Accounting.Off {
		return
	}
	if c.Policy.Shares {
		own("PriorityWeightAge", weightAge)
		own("PriorityWeightAssoc", weightFairshare)
		own("PriorityWeightFairshare", weightFairshare)
		own("PriorityWeightQOS", weightQOS)
	}
	if len(c.Policy.Enforce) > 0 {
		own("AccountingStorageEnforce", strings.Join(c.Policy.Enforce, ","))
	}
	if c.Policy.Preempt {
		own("PreemptType", "preempt/qos")
		own("PreemptMode", "REQUEUE")
	}
}
