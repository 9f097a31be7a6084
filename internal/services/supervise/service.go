// Package supervise keeps a set of long-running programs alive: it starts them
// in order, each when those it needs are ready, starts them again when they
// end, and ends them in reverse. It is made to be the first process of a process
// namespace, so it also reaps every orphan. It promises that a service that ends
// is started again, and says in its status file what runs and what does not; what
// the services are is its caller's business.
package supervise

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/say/malformed"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Service is one program to keep running.
type Service struct {
	Name string   `json:"name"`
	Args []string `json:"args"`
	Env  []string `json:"env,omitempty"`
	// Inside says that the program belongs into the machine that Config.Spawn
	// makes, rather than beside the supervisor.
	Inside bool `json:"inside,omitempty"`
	// After names the services that must be ready first.
	After []string `json:"after,omitempty"`
	// Setup is run to its end before each start; it must be safe to repeat.
	Setup []string `json:"setup,omitempty"`
	// Recover is run to its end once after a run that was ready and ended with another exit
	// code than 0, before the setup of the next one. Runs before the supervisor's own start
	// are unknown, so it is run before the first start, too.
	Recover []string `json:"recover,omitempty"`
	// Ready tells when others may use the service. Empty is at once.
	Ready Probe `json:"ready"`
	// Log takes what the service prints.
	Log string `json:"log"`
}

// Probe is how to see that a service answers: a socket that accepts.
type Probe struct {
	Network string `json:"network,omitempty"` // unix or tcp
	Address string `json:"address,omitempty"`
}

// Phase is where a service is in its life.
//
//	waiting -> starting -> ready
//	   ^___________|_________|   (it ended: back to the start, after a pause)
//	                       hanging   (stopped; ready again when it goes on)
type Phase string

// Phases of a service.
const (
	Waiting  Phase = "waiting"
	Starting Phase = "starting"
	Ready    Phase = "ready"
	// Hanging services were stopped by a signal: they do not answer, though their sockets
	// accept. They are not ended: the signal may have been sent on purpose, and a slurmctld
	// that is killed loses the state that it had not saved, which is worse than a slow one.
	Hanging Phase = "hanging"
)

// Status is what the supervisor knows of one service.
type Status struct {
	Name     string    `json:"name"`
	Phase    Phase     `json:"phase"`
	PID      int       `json:"pid,omitempty"`
	Since    time.Time `json:"since"`
	Restarts int       `json:"restarts"`
	// Last says how the last run ended.
	Last string `json:"last,omitempty"`
}

// Load reads a list of services from a file.
func Load(path string) (services []Service, err error) {
	err = read("services", path, &services)
	return services, err
}

// LoadStatus reads what a supervisor wrote to its status file.
func LoadStatus(path string) (status []Status, err error) {
	err = read("status", path, &status)
	return status, err
}

func read(what, path string, into any) error {
	data, err := whole.Read(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s of %s: %w", what, path, malformed.JSON(err))
	}
	return nil
}

// PID is the process of a service that is ready, 0 while it is not.
func PID(all []Status, service string) int {
	for _, s := range all {
		if s.Name == service && s.Phase == Ready {
			return s.PID
		}
	}
	return 0
}
