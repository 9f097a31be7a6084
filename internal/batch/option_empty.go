package batch

// emptied tells whether an option has an empty text that Slurm takes, as in --array=. The
// option then counts for not given; --export= is one without variables (Slurm's slurm_opt.c).
func (o Option) emptied() bool {
	if o.Value != "" || o.missing || o.known == nil || o.known.takes != required {
		return false
	}
	switch o.Name {
	case "account", "array", "chdir", "comment", "constraint", "dependency", "error", "exclude", "export", "extra", "gpus", "gpus-per-node", "gpus-per-socket",
		"gpus-per-task", "input", "job-name", "licenses", "mail-user", "mcs-label", "network", "nodelist", "output", "prefer", "qos", "reservation", "wckey":
		return true
	}
	return false
}

// given are the options without those that a later, empty one takes back.
func given(all []Option) []Option {
	var left []Option
	for i, o := range all {
		if o.Name == "export" || !emptiedLater(o.Name, all[i:]) {
			left = append(left, o)
		}
	}
	return left
}

func emptiedLater(name string, rest []Option) bool {
	for _, o := range rest {
		if o.Name == name && o.emptied() {
			return true
		}
	}
	return false
}
