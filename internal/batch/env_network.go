package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// interfaceNames are variables that choose the interfaces on which ranks find
// each other. Data goes over EFA whatever they say.
var interfaceNames = []string{"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"}

// interfaces reports choices that leave a node without an interface.
func (s *script) interfaces() {
	s.openMPIExclusions()
	for _, v := range s.environment() {
		if !slices.Contains(interfaceNames, v.name) || !v.whole() || v.text == "" || s.alone() {
			continue
		}
		if v.name != "NCCL_SOCKET_IFNAME" && ifnamePattern().MatchString(v.text) {
			s.warnf("script/ifname", v.Place, "%s: this variable takes whole names of interfaces only, and no node has one of this name", v.shownAs()).
				WithHint("%s", ifnameHint(v.name))
			continue
		}
		names, without := strings.CutPrefix(v.text, "^")
		all := strings.Split(strings.ReplaceAll(names, "=", ""), ",")
		if without {
			s.excluded(v, all)
			continue
		}
		s.chosen(v, all)
	}
}

// ifnamePattern is what NCCL takes for several interfaces.
var ifnamePattern = pattern.New(`^[\^=]|^(en|eno|enp|ens|eth|ib|bond)$`)

// ifnameHint is what to write instead. Gloo and TensorPipe take one name for one interface (PyTorch's ProcessGroupGloo.cpp
// and TensorPipe's uv transport compare whole names).
func ifnameHint(name string) string {
	if name == "NCCL_SOCKET_IFNAME" {
		return "write NCCL_SOCKET_IFNAME=^docker,lo,veth, or leave it out"
	}
	return "leave it out, or write the whole name of an interface, such as ens5"
}

// excluded reports lists of what is not taken. Without a list NCCL leaves out lo and
// docker's interfaces itself; a list stands for both (its user guide, NCCL_SOCKET_IFNAME).
func (s *script) excluded(v *variable, names []string) {
	if v.name == "NCCL_SOCKET_IFNAME" && !slices.ContainsFunc(names, func(n string) bool { return n != "" && strings.HasPrefix("lo", n) }) {
		s.warnf("script/ifname", v.Place, "%s leaves lo in, over which no node reaches another: the list takes the place of NCCL's own", v.shownAs()).
			WithHint("%s", ifnameHint(v.name))
	}
	for _, n := range names {
		if n == "eth" || n == "en" || n == "ens" || n == "enp" {
			s.warnf("script/ifname", v.Place, "%s leaves a node without an interface whose interfaces are called %s*", v.shownAs(), n).
				WithHint("%s", ifnameHint(v.name))
		}
	}
}

// openMPIExclusions reports lists of what Open MPI does not take that leave lo in: they, too, stand for its own, 127.0.0.1/8,sppp
// (`ompi_info --param btl tcp --level 9` of Open MPI of Debian 12).
func (s *script) openMPIExclusions() {
	const name = "btl_tcp_if_exclude"
	check := func(at diag.Place, list value) {
		if list.known() && list.text != "" && !s.alone() &&
			!slices.ContainsFunc(strings.Split(list.text, ","), func(n string) bool { return n == "lo" || strings.HasPrefix(n, "127.") }) {
			s.warnf("script/ifname", at, "%s=%s leaves lo in, over which no node reaches another: the list takes the place of Open MPI's own", name, list.text).
				WithHint("%s=%s,lo", name, list.text)
		}
	}
	for _, v := range s.environment() {
		if v.name == "OMPI_MCA_"+name {
			check(v.Place, v.value)
		}
	}
	for _, c := range s.commands {
		args := c.args()
		for i, w := range args {
			if w.text == name && i > 0 && i+1 < len(args) && strings.HasSuffix(args[i-1].text, "-mca") {
				check(w.Place, args[i+1].value)
			}
		}
	}
}

func (s *script) chosen(v *variable, names []string) {
	switch {
	case slices.Contains(names, "lo") && len(names) == 1:
		s.loopback(v)
	case slices.ContainsFunc(names, func(n string) bool { return hasAnyPrefix(n, "efa", "rdmap", "ib", "mlx") }):
		s.warnf("script/ifname", v.Place, "%s: an EFA device is no interface with an address, and EFA needs none", v.shownAs()).
			WithHint("%s", ifnameHint(v.name))
	case slices.ContainsFunc(names, func(n string) bool { return hasAnyPrefix(n, "eth", "bond") }) && len(names) == 1:
		s.warnf("script/ifname", v.Place, "%s: the nodes' interfaces are called ens* or enp*, but on Amazon Linux 2", v.shownAs()).
			WithHint("%s", ifnameHint(v.name))
	case len(names) == 1 && exactDevice(names[0]) && s.families() > 1:
		s.infof("script/ifname", v.Place, "%s is one device, and its name differs between the instance types of the partition", v.shownAs()).
			WithHint("%s", ifnameHint(v.name))
	}
}

// loopback is an error where the job surely has several nodes.
func (s *script) loopback(v *variable) {
	if s.forOneNode(v) {
		return
	}
	if s.job.several() && v.known() {
		s.fails(v, "script/ifname", "%s: over the loopback interface no node reaches another", v.shownAs()).WithHint("%s", ifnameHint(v.name))
		return
	}
	s.warnf("script/ifname", v.Place, "%s: a node may not reach another over the loopback interface", v.shownAs()).WithHint("%s", ifnameHint(v.name))
}

// families counts the families of instance types that the job may run on.
func (s *script) families() int {
	all := map[string]bool{}
	for _, in := range s.instances() {
		all[family(in)] = true
	}
	return len(all)
}

// exactDevice tells whether a name ends in a number, as those of devices do.
func exactDevice(name string) bool {
	last := name[len(name)-1:]
	return strings.ContainsAny(last, "0123456789")
}

func hasAnyPrefix(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// manyNodes are so many that every line that each rank writes is a burden.
const manyNodes = 16

// loudLogs reports NCCL's log of everything in a large job that does not measure.
func (s *script) loudLogs() {
	if s.job.minNodes < manyNodes || s.measures() {
		return
	}
	file := slices.ContainsFunc(s.environment(), func(v *variable) bool { return v.name == "NCCL_DEBUG_FILE" })
	for _, v := range s.environment() {
		level := strings.ToUpper(v.text)
		if v.name != "NCCL_DEBUG" || file || level != "INFO" && level != "TRACE" {
			continue
		}
		s.infof("script/nccl-debug", v.Place, "NCCL_DEBUG=%s writes many lines for each rank of %d nodes into one log", v.text, s.job.minNodes).
			WithHint("write NCCL_DEBUG=WARN, or add NCCL_DEBUG_FILE=/fsx/logs/nccl.%%h.%%p")
	}
}

// absentEFA reports settings that ask for EFA on nodes without it.
func (s *script) absentEFA() {
	if s.efa() != no {
		return
	}
	for _, v := range s.environment() {
		if v.name == "FI_PROVIDER" && v.is("efa") {
			s.fails(v, "script/efa", "FI_PROVIDER=efa, and the nodes (%s) have no EFA", s.machine()).
				WithHint("set Efa/Enabled: true in the cluster file, or remove it")
		}
	}
	for _, w := range s.words {
		if w.role == argument && mentions(w.text, "/dev/infiniband") && w.whole() {
			s.warnf("script/efa", w.Place, "/dev/infiniband is not there: the nodes (%s) have no EFA", s.machine()).
				WithHint("set Efa/Enabled: true in the cluster file, or remove it")
		}
	}
}

// mentions tells whether a text has a path or a path below it.
func mentions(text, dir string) bool {
	_, rest, found := strings.Cut(text, dir)
	return found && (rest == "" || strings.ContainsRune("/:,", rune(rest[0])))
}
