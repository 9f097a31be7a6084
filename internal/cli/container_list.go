//go:build linux

package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/container"
	"github.com/muster-hpc/muster/internal/say/page"
)

// containerRow is one of what `muster container list -o json` prints.
type containerRow struct {
	// Name is empty for a container that is there only while it runs.
	Name  string `json:"name"`
	Job   string `json:"job,omitempty"`
	Image string `json:"image"`
	// Created is empty if it is not known.
	Created string `json:"created,omitempty"`
	Running bool   `json:"running"`
	// PID is a process in the container, or the one that watches over it.
	PID int    `json:"pid,omitempty"`
	Dir string `json:"dir,omitempty"`
}

func (a *app) containerList() *cobra.Command {
	var state string
	c := &cobra.Command{
		Use:     "list",
		Short:   "Show your containers on this machine: those with a name and those that run",
		Example: "  muster container list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := container.List(self(), state)
			if err != nil {
				return err
			}
			return a.showContainers(all)
		},
	}
	c.Flags().StringVar(&state, "state", "", "the `DIR` for containers with a name (default: on this machine's disk)")
	return c
}

// self is the calling user.
func self() container.User { return container.User{UID: os.Getuid(), GID: os.Getgid()} }

func (a *app) showContainers(all []container.Listed) error {
	rows := []containerRow{}
	lines := page.Table{{"NAME", "JOB", "STATE", "PID", "CREATED", "IMAGE"}}
	for _, l := range all {
		r := containerRow{Name: l.Name, Job: l.Job, Image: l.Image, Running: l.PID != 0, PID: l.PID, Dir: l.Dir}
		if !l.Created.IsZero() {
			r.Created = l.Created.UTC().Format(time.RFC3339)
		}
		rows = append(rows, r)
		state, pid := "kept", "-"
		if r.Running {
			state, pid = "running", fmt.Sprint(r.PID)
		}
		lines.Add(dash(r.Name), dash(r.Job), state, pid, dash(clock(l.Created, time.Now())), r.Image)
	}
	return a.answer(rows, func() error { return lines.Write(a.out) })
}

// dash is the text, or a dash for none.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
