package batch

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// form is the language of an option's values.
type form struct {
	reads func(text string) bool
	// not is what a value is that cannot be read, hint how it is written.
	not, hint string
}

// formOf is the language of an option, where it has one that all versions of Slurm share.
func formOf(name string) (form, bool) {
	f, ok := forms()[name]
	return f, ok
}

// forms are the languages by the names of options. They are made when they are first needed.
var forms = sync.OnceValue(func() map[string]form {
	all := map[string]form{
		"nodes":               {readsNodes, "no number of nodes, or none from the least to the most", "--nodes=4, or --nodes=2-4"},
		"array":               {readsArray, "no list of task numbers", "--array=1-8, 0-9%2 for two at a time, 1,3,5 or 0-8:2"},
		"signal":              {readsSignal, "no signal that Slurm sends", "--signal=B:USR1@120 sends SIGUSR1 to the script 120 seconds before the end"},
		"switches":            {matches(`[ ]*\+?0*[1-9]\d*(@.*)?`), "no number of switches", "--switches=1@12:00:00 waits up to twelve hours for nodes on one switch"},
		"mail-type":           {readsMail, "no event of a job", "--mail-type=END,FAIL"},
		"open-mode":           {matches(`(?i)[at].*`), "neither append nor truncate", ""},
		"exclusive":           {matches(`(?i)|user|mcs|topo`), "no way to have nodes alone", "--exclusive alone keeps other jobs off the nodes; =user lets in the user's own"},
		"distribution":        {readsDistribution, "no way to place tasks", "--distribution=block, cyclic, block:cyclic or plane=SIZE"},
		"hint":                {listOf("help", "compute_bound", "memory_bound", "multithread", "nomultithread"), "no hint that Slurm knows", "--hint=compute_bound, memory_bound, multithread or nomultithread"},
		"propagate":           {readsLimits, "no list of limits", "--propagate=MEMLOCK,NOFILE, ALL or NONE"},
		"no-kill":             {matches(`(?i)|set|off|no`), "neither set nor off", ""},
		"kill-on-invalid-dep": {matches(`(?i)yes|no`), "neither yes nor no", ""},
		"wait-all-nodes":      {matches(`[ ]*\+?0*[01]`), "neither 0 nor 1", ""},
		"core-spec":           {matches(`[ ]*\+?\d+`), "no number of cores", ""},
		"priority":            {readsPriority, "no priority", "a number from 0 to 4294967293"},
		"nice":                {readsNice, "out of range", "a number from -2147483645 to 2147483645"},
		"acctg-freq":          {matches(`\d.*|((task|energy|network|filesystem)=\d+,?)+`), "no interval of accounting", "--acctg-freq=30, or task=30"},
		"cpu-freq":            {matches(`(?i)(?:co|perf|pow|user|onde|sche|lo|hi|med|[ ]*\+?0*[1-9]).*`), "no frequency of CPUs, and no governor", "--cpu-freq=high, medium, a number in kHz, or a governor such as performance"},
		"gpu-bind":            {matches(`(?i)(?:verbose,)?(?:c|n|map:|map_gpu:|mask:|mask_gpu:|per_task:|single:).*`), "no way to bind tasks to GPUs", "--gpu-bind=closest, none, single:TASKS, per_task:GPUS, map_gpu:LIST or mask_gpu:LIST"},
		"mem-bind":            {readsMemoryBinding, "no way to bind tasks to memory", "--mem-bind=local, none, rank, map_mem:LIST or mask_mem:LIST"},
		"profile":             {matches(`(?i).*(?:none|all|energy|task|lustre|network).*`), "nothing that Slurm profiles", "--profile=task, energy, lustre, network, all or none"},
		"gres":                {readsGres, "no generic resource with its number", "--gres=gpu:8, or gpu:TYPE:8"},
	}
	for names, f := range map[string]form{
		"time time-min delay-boot":                         {readsTime, "no length of time", "MINUTES, HOURS:MINUTES:SECONDS, DAYS-HOURS or DAYS-HOURS:MINUTES:SECONDS"},
		"mem mem-per-cpu mem-per-gpu tmp":                  {matches(`(?i)[ ]*\+?\d+([kmgt]b?)?`), "no amount of memory", "a whole number with K, M, G or T, such as 64G; M is meant without a letter"},
		"begin deadline":                                   {readsMoment, "no point in time", "2030-12-31T18:00, 18:00, tomorrow or now+2hours"},
		"gpus gpus-per-node gpus-per-task gpus-per-socket": {readsGPUs, "no number of GPUs", "8, or TYPE:8"},
		"ntasks ntasks-per-node ntasks-per-core ntasks-per-socket ntasks-per-gpu cpus-per-task cpus-per-gpu mincpus threads-per-core cores-per-socket sockets-per-node thread-spec": {
			matches(`[ ]*\+?0*[1-9]\d*`), "no number from 1 on", ""},
	} {
		for name := range strings.FieldsSeq(names) {
			if f.not == "no amount of memory" && name == "tmp" {
				f.not = "no amount of disk space"
			}
			all[name] = f
		}
	}
	return all
})

// matches reads texts that match a pattern as a whole.
func matches(pattern string) func(string) bool {
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString
}

// listOf reads some words with commas between them.
func listOf(words ...string) func(string) bool {
	return func(text string) bool {
		for item := range strings.SplitSeq(strings.ToLower(text), ",") {
			if item != "" && !slices.Contains(words, item) {
				return false
			}
		}
		return true
	}
}

var lengthOfTime = sync.OnceValue(func() func(string) bool {
	return matches(`(?i)unlimited|infinite|\d+(:\d+){0,2}|\d*-\d+|\d+-|\d+-\d+(:\d+){1,2}`)
})

func readsTime(text string) bool { return lengthOfTime()(text) }

// readsNodes reads 4, 2-4, 1k; the least may be left out, and 0 is no limit. Lists such as
// 1,2,4 are newer than 22.05.
func readsNodes(text string) bool {
	if strings.ContainsAny(text, ",:") {
		return true
	}
	low, high, span := strings.Cut(text, "-")
	least, ok := nodesIn(low)
	if !span {
		return ok
	}
	most, also := nodesIn(high)
	return (ok || low == "") && also && (most == 0 || most >= max(least, 1))
}

func nodesIn(text string) (int, bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "+")
	factor := 1
	switch {
	case strings.HasSuffix(text, "k"), strings.HasSuffix(text, "K"):
		factor = 1 << 10
	case strings.HasSuffix(text, "m"), strings.HasSuffix(text, "M"):
		factor = 1 << 20
	}
	if factor > 1 {
		text = text[:len(text)-1]
	}
	n, err := strconv.Atoi(text)
	return n * factor, err == nil && n >= 0
}

// readsArray reads the parts of a list, each FIRST, FIRST-LAST or FIRST-LAST:STEP. An
// empty part and what stands behind % are no mistake to Slurm.
func readsArray(text string) bool {
	for item := range strings.SplitSeq(text, ",") {
		m := arrayPart().FindStringSubmatch(item)
		if m == nil || m[1] == "" && m[2] != "" || m[2] != "" && number(m[3]) < number(m[1]) && len(m[1]) < 8 && len(m[3]) < 8 || m[4] != "" && strings.Trim(m[5], "0") == "" {
			return false
		}
	}
	return true
}

var arrayPart = pattern.New(`^\[?[ ]*(\d*)\]?(-[ ]*(\d*)\]?(:[ ]*(\d*)\]?)?)?(?:%.*)?$`)

// readsSignal reads [R][B:]SIGNAL[@SECONDS].
func readsSignal(text string) bool {
	m := signalParts().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	if m[1] == "" || err == nil && (n < 1 || n > maxSignal) {
		return false
	}
	seconds, _ := strconv.Atoi(m[2])
	return seconds <= maxSignal
}

// maxSignal is the most that Slurm keeps of a signal's number and of its seconds.
const maxSignal = 1<<16 - 1

var signalParts = pattern.New(`(?i)^R?B?R?:?[ ]*(\d{1,6}|(?:SIG)?(?:HUP|INT|QUIT|ABRT|KILL|ALRM|TERM|CHLD|USR1|USR2|PIPE|URG|CONT|STOP|TSTP|TTIN|TTOU|XCPU))[ ]*(?:@(\d{0,6}))?$`)

// readsMail wants one event: Slurm passes over words that it does not know.
func readsMail(text string) bool {
	known := listOf("none", "all", "begin", "end", "fail", "requeue", "invalid_depend", "stage_out", "array_tasks",
		"time_limit", "time_limit_90", "time_limit_80", "time_limit_50")
	return slices.ContainsFunc(strings.Split(text, ","), func(item string) bool { return item != "" && known(item) })
}

var distribution = sync.OnceValue(func() func(string) bool {
	const word = `(?:block|cyclic|fcyclic|\*)`
	return matches(`(?i)plane=[ ]*\+?0*[1-9]\d*|(?:arbitrary|hostfile|pack|nopack|` + word + `(:` + word + `?){0,2})(,(pack|nopack)?)*`)
})

func readsDistribution(text string) bool { return distribution()(text) }

func readsLimits(text string) bool {
	if text == "ALL" || text == "NONE" {
		return true
	}
	limits := []string{"AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK"}
	for item := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(limits, strings.TrimPrefix(item, "RLIMIT_")) {
			return false
		}
	}
	return true
}

// readsPriority: Slurm takes a text that is not a number for 0.
func readsPriority(text string) bool {
	const most = 1<<32 - 3
	n, err := strconv.ParseInt(text, 10, 64)
	return err != nil || n >= 0 && n <= most
}

func readsNice(text string) bool {
	const most = 1<<31 - 3
	n, err := strconv.ParseInt(text, 10, 64)
	return err != nil || n >= -most && n <= most
}

// readsGres reads gpu, gpu:8, gpu:TYPE and gpu:TYPE:8 in a list. What has = or / is of
// newer versions.
func readsGres(list string) bool {
	for item := range strings.SplitSeq(list, ",") {
		item, _, _ = strings.Cut(strings.TrimPrefix(item, "gres:"), "(")
		if strings.ContainsAny(item, "=/") || item == "none" || item == "help" {
			continue
		}
		parts := strings.Split(item, ":")
		last := parts[len(parts)-1]
		switch {
		case len(parts) > 3, len(parts) > 1 && last == "", len(parts) == 3 && !gresCount()(last), len(parts) == 2 && noCount()(last):
			return false
		}
	}
	return true
}

// gresCount is a number with its unit. noCount is a number that cannot count GPUs; all
// other texts may be the name of a type.
var (
	gresCount = sync.OnceValue(func() func(string) bool { return matches(`(?i)\d+[kmgtp]?b?`) })
	noCount   = sync.OnceValue(func() func(string) bool { return matches(`-\d+|[-+]?\d*\.\d+`) })
)

func readsGPUs(list string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if !readsGres("gpu:" + item) {
			return false
		}
	}
	return true
}

func readsMemoryBinding(text string) bool { return memoryBinding()(text) }

// memoryBinding are words, and lists of memory to the tasks.
var memoryBinding = sync.OnceValue(func() func(string) bool {
	const word = `(?:help|p|prefer|nosort|sort|q|quiet|v|verbose|no|none|rank|local|(?:map_?mem|mask_?mem)[^:=]*[:=].+)`
	return matches(`(?i)` + word + `(?:,` + word + `)*`)
})

// moment is what Slurm reads as a point in time: dates, times and words, in any order.
var moment = sync.OnceValue(func() func(string) bool {
	const (
		month, day = `(?:0?[1-9]|1[0-2])`, `(?:0?[1-9]|[12]\d|3[01])`
		date       = `\d{4}-(?:0[1-9]|1[0-2])-` + day + `|` + month + `[./]` + day + `(?:[./]\d{2}(?:\d{2})?)?|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{2}(?:\d{2})?`
		minutes    = `:[0-5]\d(?::[0-5]\d)?`
		clock      = `(?:0?\d|1[0-2])` + minutes + `\s*(?:am|pm)|(?:[01]?\d|2[0-3])` + minutes
		words      = `today|tomorrow|midnight|noon|elevenses|fika|teatime`
		now        = `now(?:\s*[+-][\s\d]*\d\s*(?:(?:second|minute|hour|day|week)s?)?)?`
	)
	return matches(`(?i)uts\d+|(?:[\s\-T]*(?:` + now + `|` + words + `|` + clock + `|` + date + `))+\s*`)
})

func readsMoment(text string) bool { return moment()(text) }
