package keeper

import (
	"os/exec"
	"time"

	"github.com/muster-hpc/muster/internal/job/errand"
)

const (
	// filesWait is how long a file system may take, filesIdle how long a user's process stays.
	filesWait = 20 * time.Second
	filesIdle = 10 * time.Minute
)

// Crew are the processes that look at users' files: become is the start of a command line that
// runs as a user on the head node, muster this program's path there.
func Crew(become func(errand.User) []string, muster string) *errand.Crew {
	return &errand.Crew{Wait: filesWait, Idle: filesIdle, Command: func(u errand.User) *exec.Cmd {
		line := append(become(u), muster, "agent", "errands")
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, "/"
		return cmd
	}}
}
