package slurm

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Resume is what slurmctld tells ResumeProgram in the file that
// SLURM_RESUME_FILE names: which nodes to start, and for which jobs.
type Resume struct {
	Nodes []string
	Jobs  []ResumeJob
}

// ResumeJob is a job that waits for nodes.
type ResumeJob struct {
	ID        int
	Partition string
	// Nodes are all that the job has been given; Resume are those of them that
	// must be started.
	Nodes  []string
	Resume []string
	// OverSubscribe is Slurm's word: NO, OK, YES, EXCLUSIVE, USER ...
	OverSubscribe string
}

// resumeFile has the keys of all versions: 22.05 says all_nodes and nodes
// where 23.02 and later say all_nodes_resume and nodes_resume.
type resumeFile struct {
	AllNodesResume string `json:"all_nodes_resume"`
	AllNodes       string `json:"all_nodes"`
	Jobs           []struct {
		ID            json.Number `json:"job_id"`
		Partition     string      `json:"partition"`
		NodesAlloc    string      `json:"nodes_alloc"`
		NodesResume   string      `json:"nodes_resume"`
		Nodes         string      `json:"nodes"`
		OverSubscribe string      `json:"oversubscribe"`
	} `json:"jobs"`
}

// ParseResumeFile reads SLURM_RESUME_FILE. Keys that it does not know are left
// alone, keys that are absent are empty.
func ParseResumeFile(data []byte) (Resume, error) {
	var file resumeFile
	if err := json.Unmarshal(data, &file); err != nil {
		return Resume{}, fmt.Errorf("read the resume file: %w", err)
	}
	var resume Resume
	var err error
	if resume.Nodes, err = Expand(either(file.AllNodesResume, file.AllNodes)); err != nil {
		return Resume{}, fmt.Errorf("read the resume file: %w", err)
	}
	for _, j := range file.Jobs {
		id, err := j.ID.Int64()
		if err != nil {
			return Resume{}, fmt.Errorf("read the resume file: %q is no job number", shorten(j.ID.String()))
		}
		job := ResumeJob{ID: int(id), Partition: j.Partition, OverSubscribe: j.OverSubscribe}
		if job.Resume, err = Expand(either(j.NodesResume, j.Nodes)); err != nil {
			return Resume{}, fmt.Errorf("read the resume file: job %d: %w", id, err)
		}
		if job.Nodes, err = Expand(either(j.NodesAlloc, either(j.NodesResume, j.Nodes))); err != nil {
			return Resume{}, fmt.Errorf("read the resume file: job %d: %w", id, err)
		}
		resume.Jobs = append(resume.Jobs, job)
	}
	if resume.Nodes == nil {
		resume.Nodes = nodesOf(resume.Jobs)
	}
	return resume, nil
}

func either(a, b string) string {
	if a != "" && a != "(null)" {
		return a
	}
	return b
}

// nodesOf are the nodes that any job waits for, each once.
func nodesOf(jobs []ResumeJob) []string {
	var nodes []string
	for _, j := range jobs {
		nodes = append(nodes, j.Resume...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
