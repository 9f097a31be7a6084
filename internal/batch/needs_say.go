package batch

import (
	"path"
	"slices"
	"strings"
)

// tools are programs of the machine that a rehearsal lacks, and where they come from on a
// cluster of AWS; "" is from no image of ParallelCluster's.
var tools = map[string]string{
	"nvidia-smi": inImages, "nvidia-debugdump": inImages, "dcgmi": inImages, "nvcc": inImages, "nv-fabricmanager": inImages,
	"fi_info": inImages, "fi_pingpong": inImages, "lfs": inImages, "lctl": inImages, "aws": inImages,
	"mpirun": inImages, "mpiexec": inImages, "mpicc": inImages, "mpicxx": inImages, "ompi_info": inImages,
	"ior": "", "mdtest": "", "osu_bw": "", "osu_latency": "",
	"all_reduce_perf": "", "all_gather_perf": "", "alltoall_perf": "", "broadcast_perf": "", "reduce_perf": "", "reduce_scatter_perf": "",
}

const inImages = "ParallelCluster's images"

// imageDirs are directories that are ParallelCluster's images' own.
var imageDirs = []string{"/opt/amazon", "/usr/local/cuda", "/opt/parallelcluster", "/opt/slurm"}

// needRules say what of the script's needs is on no node. Each is said once.
func (s *script) needRules() {
	if s.facts == nil {
		return
	}
	s.remoteImages()
	if s.facts.Lacking == nil {
		return
	}
	said := map[string]bool{}
	for _, n := range s.needs() {
		if !s.facts.Lacking[n.Thing] || said[n.Name] || s.hasNoMount(n) {
			continue
		}
		said[n.Name] = true
		switch n.What {
		case Image:
			s.lacksImage(n)
		case File:
			s.warnf("script/file-missing", n.Place, "there is no %s on the nodes", n.Name).WithHint("%s", s.whereFiles(n.Name))
		case Program, Folder:
			s.lacksProgram(n)
		case Function:
			s.warnf("script/program", n.Place, "%s is on no node: there are no environment modules, and in production %s have them", n.Name, inImages).
				WithHint("`if type %s >/dev/null 2>&1; then ...; fi` around it passes it by where there are none", n.Name)
		}
	}
}

// hasNoMount tells whether a thing is missing because a mount is, of which another rule
// tells.
func (s *script) hasNoMount(n need) bool {
	return s.facts.Filed && strings.HasPrefix(n.Name, "/") && s.nowhere(n.Name, spot{path: n.Name}.root())
}

func (s *script) lacksImage(n need) {
	const how = "`muster image list` shows those that are there, `muster image import` makes one"
	if n.fatal {
		s.errorf("script/image-missing", n.Place, "there is no image %s, and without it the job cannot start", n.Name).WithHint(how)
		return
	}
	s.warnf("script/image-missing", n.Place, "there is no image %s", n.Name).WithHint(how)
}

func (s *script) lacksProgram(n need) {
	if n.fatal {
		s.errorf("script/program", n.Place, "%s is on no node, and without it the job cannot start", n.Name).WithHint("%s", s.whereFiles(n.Name))
		return
	}
	from, tool := tools[path.Base(n.Name)]
	switch {
	case slices.ContainsFunc(imageDirs, func(d string) bool { return within(d, n.Name) }):
		from, tool = inImages, true
	case n.What == Folder && strings.Contains(n.Name, "nccl-tests"), n.What == Program && strings.Contains(n.Name, "/nccl-tests/"):
		from, tool = "", true
	}
	switch {
	case tool && from != "" && s.facts.Rehearsal:
		s.warnf("script/program", n.Place, "%s is not on these nodes: a rehearsal has none, and in production %s have it", n.Name, from)
	case tool && from == "":
		s.warnf("script/program", n.Place, "%s is not on these nodes, and ParallelCluster's own images do not have it either", n.Name).
			WithHint("build it onto shared storage, or run it in a container that has it")
	case n.Name == "python":
		s.warnf("script/program", n.Place, "python is on no node").
			WithHint("Debian's is called python3; or activate a venv that the nodes see before you submit: %s", s.whereFiles(""))
	case strings.Contains(n.Name, "/"):
		s.warnf("script/program", n.Place, "%s is on no node", n.Name).WithHint("%s", s.whereFiles(n.Name))
	default:
		s.warnf("script/program", n.Place, "%s is on no node: it is in no directory of the job's PATH", n.Name)
	}
}

// whereFiles says where nodes see files.
func (s *script) whereFiles(name string) string {
	text := "nodes see the directory that you submit from"
	var dirs []string
	for _, m := range s.facts.Mounts {
		if m.Kind != "" {
			dirs = append(dirs, m.Dir)
		}
	}
	if len(dirs) > 0 {
		text += ", and the cluster's " + strings.Join(dirs, ", ")
	}
	if within("/home", name) && s.facts.Rehearsal {
		text += "; its /home is not this machine's"
	}
	return text
}
