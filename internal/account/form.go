package account

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// form is a value in the one way in which values are compared: the file's and Slurm's words for one
// thing differ (90 and 01:30:00, 1T and 1048576M), and lists have no order.
func form(key, text string) string {
	switch {
	case strings.Contains(key, "TRES"):
		return writeTRES(parseTRES(text))
	case strings.HasSuffix(key, "Wall"):
		return minutes(text)
	case key == "GraceTime":
		return seconds(text)
	case key == "QOS", key == "Preempt", key == "Flags":
		items := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' })
		slices.Sort(items)
		return strings.Join(slices.Compact(items), ",")
	case key == "UsageFactor":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(f, 'g', 6, 64)
		}
		return text
	case key == "Description", key == "Organization": // of which 22.05 keeps small letters alone
		return strings.ToLower(strings.NewReplacer(`"`, "`", "'", "`").Replace(text))
	}
	return strings.ToLower(text)
}

// parseTRES reads cpu=4,mem=10G,gres/gpu=8. Memory is in MiB where it has no unit.
func parseTRES(text string) map[string]uint64 {
	all := map[string]uint64{}
	for item := range strings.SplitSeq(text, ",") {
		name, amount, ok := strings.Cut(strings.ToLower(item), "=")
		if !ok || amount == "" {
			continue
		}
		const units = "kmgtp"
		n, power := strings.TrimRight(amount, units), 0
		if n != amount {
			power = strings.Index(units, amount[len(n):len(n)+1]) + 1
		}
		if (name == "mem" || name == "vmem") && power > 0 {
			power--
		}
		value, err := strconv.ParseFloat(n, 64)
		if err != nil || value < 0 {
			continue
		}
		for ; power > 0; power-- {
			value *= 1024
		}
		if strings.HasSuffix(amount, "k") && (name == "mem" || name == "vmem") {
			value /= 1024
		}
		all[name] = uint64(value)
	}
	return all
}

func writeTRES(all map[string]uint64) string {
	var items []string
	for name, n := range all {
		items = append(items, fmt.Sprintf("%s=%d", name, n))
	}
	slices.Sort(items)
	return strings.Join(items, ",")
}

// minutes reads a time of Slurm's: minutes, minutes:seconds, hours:minutes:seconds, days-hours and so on.
func minutes(text string) string {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	var parts []int
	for part := range strings.SplitSeq(clock, ":") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return text
		}
		parts = append(parts, n)
	}
	d, err := strconv.Atoi(days)
	if err != nil || len(parts) > 3 {
		return text
	}
	units := []int{60, 1, 0} // seconds of a minute first: 90, 90:30
	switch {
	case hasDays, len(parts) == 3:
		units = []int{3600, 60, 1}
	case len(parts) == 2:
		units = []int{60, 1}
	}
	total := d * 24 * 3600
	for i, n := range parts {
		total += n * units[i]
	}
	return strconv.Itoa((total + 59) / 60)
}

// seconds reads seconds, or a time as 00:01:30.
func seconds(text string) string {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	total := 0
	for part := range strings.SplitSeq(clock, ":") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return text
		}
		total = total*60 + n
	}
	d, err := strconv.Atoi(days)
	if err != nil {
		return text
	}
	return strconv.Itoa(total + d*24*3600)
}

// setting is how sacctmgr is told a value: of resources, those that had a limit lose it.
func setting(key, value, had string) string {
	if !strings.Contains(key, "TRES") {
		return key + "=" + value
	}
	items := strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
	wants := parseTRES(value)
	var gone []string
	for name := range parseTRES(had) {
		if _, stays := wants[name]; !stays {
			gone = append(gone, name+"=-1")
		}
	}
	slices.Sort(gone)
	return key + "=" + strings.Join(append(items, gone...), ",")
}

// unset is how sacctmgr is told that a value is to be Slurm's own again, empty where there is none.
func unset(kind Kind, key, had string) string {
	switch {
	case strings.Contains(key, "TRES"):
		return setting(key, "", had)
	case key == "FairShare", key == "UsageFactor":
		return key + "=1"
	case key == "QOS", key == "Preempt":
		return key + "="
	case key == "PreemptMode":
		return key + "=cluster"
	case key == "GraceTime", key == "Priority" && kind == QOS:
		return key + "=0"
	case key == "Description", key == "Organization", key == "Parent":
		return ""
	}
	return key + "=-1"
}

// unsetForm is a value that was unset, as Slurm shows it, in its one form.
func unsetForm(kind Kind, key string) string {
	switch {
	case key == "FairShare", key == "UsageFactor":
		return "1"
	case key == "PreemptMode":
		return "cluster"
	case key == "GraceTime", key == "Priority" && kind == QOS:
		return "0"
	}
	return ""
}

func orNone(text string) string { return cmp.Or(text, "none") }
