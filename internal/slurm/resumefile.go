package slurm

import (
	"encoding/json"
	"fmt"
)

// ResumeJob is a job that waits for nodes to be started, which are a host list.
type ResumeJob struct {
	ID    int
	Nodes string
}

// resumeFile has the keys of all versions: 22.05 says nodes where 23.02 and later say
// nodes_resume.
type resumeFile struct {
	Jobs []struct {
		ID          json.Number `json:"job_id"`
		NodesResume string      `json:"nodes_resume"`
		Nodes       string      `json:"nodes"`
	} `json:"jobs"`
}

// ParseResumeFile reads which jobs the nodes are for from the file that slurmctld names
// to ResumeProgram in SLURM_RESUME_FILE. Keys that it does not know are left alone, keys
// that are absent are empty.
func ParseResumeFile(data []byte) ([]ResumeJob, error) {
	var file resumeFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read the resume file: %w", err)
	}
	var jobs []ResumeJob
	for _, j := range file.Jobs {
		id, err := j.ID.Int64()
		if err != nil {
			return nil, fmt.Errorf("read the resume file: %q is no job number", shorten(j.ID.String()))
		}
		nodes := j.NodesResume
		if nodes == "" || nodes == "(null)" {
			nodes = j.Nodes
		}
		jobs = append(jobs, ResumeJob{ID: int(id), Nodes: nodes})
	}
	return jobs, nil
}
