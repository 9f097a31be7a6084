package sbatch

import "strings"

// Program is muster on a cluster's machines.
const Program = "/opt/muster/bin/muster"

// secrets has the ranks find the job's secrets in their environment. read takes them one by one:
// a word of a command that has a value is shown where bash traces what it does.
func (w writer) secrets() {
	if len(w.job.Secrets) == 0 {
		return
	}
	var names, reads []string
	for _, s := range w.job.Secrets {
		names = append(names, s.Name)
		reads = append(reads, "    IFS= read -r -d '' "+s.Name)
	}
	w.say("\n# The job's secrets, which the head node gives to this job alone while it runs. No file here has them, and no command line.")
	w.add("Secrets", "{\n"+strings.Join(reads, " &&\n")+"\n} < <("+Program+" agent secrets "+strings.Join(names, " ")+") || exit 1")
	w.add("Secrets", "export "+strings.Join(names, " "))
}
