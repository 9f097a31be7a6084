package batch

import (
	"slices"
	"strings"
)

// endless reports whether a command surely runs until it is stopped: servers, and
// programs that write a line every few seconds. Ray's own scripts for Slurm have such steps
// (https://docs.ray.io/en/latest/cluster/vms/user-guides/community/slurm.html): ray
// start --block & on each node, the work in front, and the script's end ends them.
func (c *command) endless() bool {
	if c.under("timeout") || c.name == "timeout" {
		return false
	}
	switch c.name {
	case "ray":
		return c.says("start") && c.says("--block")
	case "jupyter", "jupyter-lab", "jupyter-notebook", "tensorboard", "code-server", "dask-scheduler", "dask-worker", "prometheus",
		"node_exporter", "dcgm-exporter", "watch":
		return !c.says("--help", "--version", "list", "stop", "nbconvert")
	case "nvidia-smi":
		return (c.says("dmon", "pmon") && !c.says("-c", "--count")) || c.starts("-l", "--loop")
	case "dcgmi":
		return c.says("dmon") && !c.says("-c", "--count")
	case "tail":
		return c.says("-f", "-F", "--follow")
	case "sleep":
		return c.says("infinity", "inf")
	case "vllm":
		return c.says("serve")
	case "mlflow":
		return c.says("server", "ui")
	case "dask":
		return c.says("scheduler", "worker")
	case "ollama":
		return c.says("serve")
	}
	return c.python() && c.says("-m") && c.says("http.server", "vllm.entrypoints.openai.api_server", "sglang.launch_server", "tensorboard.main")
}

// says tells whether one of some words is among the arguments.
func (c *command) says(words ...string) bool {
	return slices.ContainsFunc(c.args(), func(w word) bool { return w.known() && slices.Contains(words, w.text) })
}

// starts tells whether an argument begins with one of some texts.
func (c *command) starts(texts ...string) bool {
	return slices.ContainsFunc(c.args(), func(w word) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return w.known() && strings.HasPrefix(w.text, t) })
	})
}

// serves tells whether a command is endless, or runs one that is.
func (s *script) serves(c *command) bool {
	return c.endless() || slices.ContainsFunc(s.commands, func(in *command) bool { return in.within(c) && in.endless() })
}

// within tells whether a command runs this one, if by way of others.
func (c *command) within(o *command) bool {
	for at := c.outer; at != nil; at = at.outer {
		if at == o {
			return true
		}
	}
	return false
}

// worksAfter tells whether something follows in front that is no mere word or pause.
func (s *script) worksAfter(c *command) bool {
	return slices.ContainsFunc(s.commands, func(w *command) bool {
		return w.index > c.index && !w.within(c) && !w.background && w.outer == nil && !w.substituted && w.function == "" && s.works(w)
	})
}

// workless are commands that do no work, and end at once or soon.
var workless = append([]string{
	"export", "set", "cd", "source", ".", "module", "mkdir", "wait", "exit", "trap", "unset", "shift", "local", "declare", "read", "test", "[", "[[", "ulimit", "conda",
}, harmless...)

// works tells whether a command may be what the job is for.
func (s *script) works(c *command) bool { return !slices.Contains(workless, c.name) && !s.serves(c) }

// endlessWait finds a wait without numbers behind something in the background that
// never ends, in a script whose work is something else: it lasts until the time is
// over.
func (s *script) endlessWait() {
	for _, w := range s.named("wait") {
		if len(w.words) != 1 || w.background || w.function != "" || w.task() || w.subshell || w.conditional {
			continue
		}
		if c, ahead := s.neverEnds(w); c != nil {
			d := s.warnf("script/endless-wait", w.Place, "wait waits for line %d, too, which never ends: the job stays until its time is over", c.Line).
				WithHint("keep the number of the work, pid=$!, and write wait $pid; the script's end ends the others")
			if ahead {
				d.WithHint("leave it away: the work is not in the background, and the script's end ends the others")
			}
		}
	}
}

// neverEnds is what wait would wait for without an end, if the work is something else
// and nothing in the script may end it. ahead says that no work is in the background.
func (s *script) neverEnds(wait *command) (endless *command, ahead bool) {
	if slices.ContainsFunc(s.commands, func(k *command) bool {
		return k.name == "" || slices.Contains([]string{"kill", "pkill", "killall", "scancel", "disown"}, k.name) || k.name == "ray" && k.says("stop")
	}) {
		return nil, false
	}
	work := false
	ahead = true
	for _, c := range s.commands {
		switch {
		case c.index >= wait.index || c.outer != nil || c.substituted || c.function != "":
		case c.background && s.serves(c) && !c.subshell && !c.conditional:
			endless = c
		case s.matters(c) || s.works(c) && (c.name == "srun" || c.python()):
			work, ahead = true, ahead && !c.background
		}
	}
	if !work {
		return nil, false
	}
	return endless, ahead
}
