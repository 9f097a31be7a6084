package job

import "strings"

// limitSubjects are whose limits Slurm's reasons tell of, by how the reasons begin.
var limitSubjects = []struct{ prefix, owner string }{{"Assoc", "account"}, {"QOS", "QOS"}, {"", "account in this QOS"}}

// limitThings are what limits count, longest first where one begins as another.
var limitThings = []struct{ prefix, words string }{
	{"BB", "burst buffer"}, {"Billing", "billing units"}, {"CPU", "CPUs"}, {"Cpu", "CPUs"}, {"Energy", "energy"}, {"GRES", "GPUs or other GRES"},
	{"License", "licenses"}, {"Memory", "memory"}, {"Mem", "memory"}, {"Node", "nodes"}, {"Unknown", "units of some resource"},
	{"SubmitJobs", "submitted jobs"}, {"SubmitJob", "submitted jobs"}, {"Jobs", "jobs"}, {"WallDuration", "time"}, {"Wall", "time"},
}

// LimitOf says in words which limit a reason of Slurm's means, also one for which sbatch takes no job; empty if it means none.
func LimitOf(reason string) string {
	text, _ := limited(reason)
	return text
}

// limited says which limit of an account or a QOS keeps a job from starting. Slurm puts its words
// together: AssocGrpGRESRunMinutes, QOSMaxCpuPerUserLimit, MaxNodePerAccount.
func limited(reason string) (text string, ok bool) {
	for _, s := range limitSubjects {
		rest, found := strings.CutPrefix(reason, s.prefix)
		if !found {
			continue
		}
		for _, kind := range []string{"Grp", "Max", "Min"} {
			if thing, found := strings.CutPrefix(rest, kind); found {
				return limitOf(kind, thing, s.owner)
			}
		}
	}
	return "", false
}

func limitOf(kind, rest, owner string) (text string, ok bool) {
	for _, t := range limitThings {
		scope, found := strings.CutPrefix(rest, t.prefix)
		if !found {
			continue
		}
		scope, named := strings.CutSuffix(scope, "Limit")
		if text, ok := scoped(scope, t.words, owner); ok {
			return text, true
		}
		switch {
		case kind == "Min":
			return "it asks for less than a job of its " + owner + " must: " + t.words, true
		case scope != "", kind == "Max" && !named:
			return "", false
		case t.words == "submitted jobs":
			return "the jobs of its " + whose(kind, owner) + " that wait and run are as many as they may be", true
		case t.words == "jobs":
			return "as many jobs of its " + whose(kind, owner) + " run as may at once", true
		}
		return "the running jobs of its " + owner + " have all the " + t.words + " that they may have together", true
	}
	return "", false
}

// whose are the jobs that a limit counts: Grp counts all of an account, Max those of each user.
func whose(kind, owner string) string {
	if kind == "Max" {
		return "user in its " + owner
	}
	return owner
}

// scoped are limits on a job, a node, a user, an account, and on minutes.
func scoped(scope, thing, owner string) (text string, ok bool) {
	minutes := thing + " times minutes"
	if thing == "time" {
		minutes = "minutes"
	}
	switch scope {
	case "PerJob":
		return "it asks for more " + thing + " than a job of its " + owner + " may", true
	case "PerNode":
		return "it asks for more " + thing + " on a node than a job of its " + owner + " may", true
	case "MinutesPerJob":
		return "it asks for more " + minutes + " than a job of its " + owner + " may", true
	case "PerUser":
		return perWhom(thing, "user's jobs in its "+owner), true
	case "PerAccount":
		return perWhom(thing, "account's jobs in its QOS"), true
	case "RunMinsPerUser":
		return "the running jobs of its user may take all the " + minutes + " that its QOS gives a user at once", true
	case "RunMinsPerAccount":
		return "the running jobs of its account may take all the " + minutes + " that its QOS gives an account at once", true
	case "Minutes":
		return "the jobs of its " + owner + " have used all the " + minutes + " that they may", true
	case "RunMinutes":
		return "the running jobs of its " + owner + " may take all the " + minutes + " that they may have ahead of them at once", true
	}
	return "", false
}

func perWhom(thing, who string) string {
	switch thing {
	case "jobs":
		return "as many of its " + who + " run as may at once"
	case "submitted jobs":
		return "as many of its " + who + " wait and run as may"
	}
	return "its " + who + " have all the " + thing + " that they may have"
}
