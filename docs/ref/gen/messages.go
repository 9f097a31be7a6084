package main

import (
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/message"
)

// messagesPage is docs/ref/messages.md.
func messagesPage() string {
	actions := map[string]cause.Action{}
	for _, r := range cause.Table() {
		actions[string(r.Class)] = r.Action
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Error messages

<!-- Written by `+"`go run ./docs/ref/gen`"+` from internal/job/message/messages.tsv. -->

muster reads these %d messages in what a job writes, and judges [how it ended](../jobs.md#how-muster-judges-an-ending) by them. A class with ? is a guess, and muster says so.
Of "A / B", A holds if one node says so, and B if all nodes of several do, or no node is known that alone does.

*The node* is left out of the job's next runs, and drained if [more than the job says so](../jobs.md#what-drains-a-node). *Not that node* is left out and never drained. *Later* is after a
wait of five minutes, and twice as long each further time, up to an hour; such runs count as restarts, and not as runs that came no further.
`, len(message.Table()))
	for _, place := range messagePlaces {
		fmt.Fprintf(&b, "\n## %s\n\n| text | class | then the job | hint | source |\n| --- | --- | --- | --- | --- |\n", place.title)
		for _, r := range message.Of(place.where) {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", texts(r), classText(r), followsText(r, actions[r.Class]), inCell(r.Hint), inCell(r.Source))
		}
	}
	return b.String()
}

var messagePlaces = []struct {
	where message.Where
	title string
}{
	{message.CUDA, "CUDA's errors"},
	{message.Line, "At the beginning of a line"},
	{message.Usage, "Wrong arguments: behind the program's name and \"error:\", with exit code 2"},
	{message.Slurm, "Behind \"error:\" of slurmstepd and srun"},
	{message.NCCL, "In a warning of NCCL or its plugin for EFA"},
	{message.Exception, "In the last line of a traceback"},
	{message.Name, "Names of exceptions"},
}

func texts(r message.Row) string {
	var all []string
	for _, t := range r.Texts {
		for part := range strings.SplitSeq(t, "&") {
			all = append(all, "`"+inCell(strings.ReplaceAll(strings.TrimSpace(part), "`", "'"))+"`")
		}
		if strings.Contains(t, "&") {
			all = []string{strings.Join(all, " and ")}
		}
	}
	return strings.Join(all, ", ")
}

func classText(r message.Row) string {
	text := "`" + r.Class + "`"
	if r.Guess {
		text += "?"
	}
	if r.Everywhere != "" {
		text += " / `" + r.Everywhere + "`"
	}
	return text
}

func followsText(r message.Row, action cause.Action) string {
	switch r.Follows {
	case message.Here:
		return "goes on"
	case message.Later:
		return "goes on later"
	case message.Stop:
		return "stops"
	case message.AsClass:
	}
	switch r.Fault {
	case message.Node, message.AloneNode:
		return "goes on, without the node"
	case message.Avoid, message.Alone:
		return "goes on, not on that node"
	case message.Service, message.OfClass:
	}
	return map[cause.Action]string{cause.Stop: "stops", cause.Here: "goes on", cause.Elsewhere: "goes on elsewhere"}[action]
}

// inCell is a text that stands in a table.
func inCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
