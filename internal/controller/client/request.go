package client

// Request is what Slurm's Resume and Suspend programs send.
type Request struct {
	// Nodes is a host list.
	Nodes string `json:"nodes"`
	// Jobs are those that wait for the nodes, in the order in which they are to be
	// served, as far as Slurm says so.
	Jobs []RequestJob `json:"jobs,omitempty"`
}

// RequestJob is a job that waits for nodes, a host list.
type RequestJob struct {
	ID    int    `json:"id"`
	Nodes string `json:"nodes"`
}

// StopRequest stops the fleet.
type StopRequest struct {
	// Now ends instances at once. Their jobs go back into the queue and wait.
	Now bool `json:"now"`
}

// ShareRequest asks for a directory to be shown on every machine.
type ShareRequest struct {
	Dir string `json:"dir"`
}
