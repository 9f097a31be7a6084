package jobfile

import (
	"slices"
	"strings"
)

// readers are what reads variables by itself before the program of a rank does, and may print what
// it does not understand: ld.so(8), the shell variables of bash(1), the environment of python(1),
// and those of sbatch(1) and srun(1). A name that ends in * stands for all that begin so.
var readers = []struct {
	who   string
	names []string
}{
	{"the loader of programs", []string{"LD_*", "GLIBC_TUNABLES"}},
	{"the shell", []string{
		"BASH*", "CDPATH", "DIRSTACK", "ENV", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "EXECIGNORE", "FUNCNAME", "FUNCNEST", "GLOBIGNORE", "GROUPS", "HOME",
		"IFS", "LANG", "LANGUAGE", "LC_*", "LINENO", "OLDPWD", "OPTARG", "OPTERR", "OPTIND", "PATH", "PIPESTATUS", "POSIXLY_CORRECT", "PPID", "PROMPT_COMMAND",
		"PS0", "PS1", "PS2", "PS3", "PS4", "PWD", "RANDOM", "REPLY", "SECONDS", "SHELL", "SHELLOPTS", "SHLVL", "SRANDOM", "TMOUT", "TMPDIR", "UID", "_",
	}},
	{"Slurm", []string{"SLURM_*", "SLURMD_*", "SBATCH_*", "SRUN_*", "SPANK_*", "PMI_*", "PMIX_*"}},
	{"muster", []string{"MUSTER_*"}},
}

// readBy is what reads a variable by itself, "" if nothing does.
func readBy(name string) string {
	for _, r := range readers {
		if slices.ContainsFunc(r.names, func(n string) bool {
			begin, all := strings.CutSuffix(n, "*")
			return n == name || all && strings.HasPrefix(name, begin)
		}) {
			return r.who
		}
	}
	// Python's own are one word, as PYTHONSTARTUP; PYTHON_TOKEN is somebody's.
	if rest, ok := strings.CutPrefix(name, "PYTHON"); ok && rest != "" && !strings.HasPrefix(rest, "_") {
		return "Python"
	}
	return ""
}
