package slurm

import (
	"bytes"
	"context"
	"strconv"
)

// Script is a job's batch script from the accounting database, nil if that has
// none: it keeps scripts only with AccountingStoreFlags=job_script.
func (c Client) Script(ctx context.Context, id int) ([]byte, error) {
	out, err := c.Runner.Run(ctx, "sacct", "--batch-script", "--jobs="+strconv.Itoa(id))
	if err != nil {
		return nil, err
	}
	return parseScript(out), nil
}

// Scripts are the batch scripts of jobs from the accounting database, by the jobs' numbers, as far as it has them.
func (c Client) Scripts(ctx context.Context, ids []int) (map[int][]byte, error) {
	all := map[int][]byte{}
	if len(ids) == 0 {
		return all, nil
	}
	args := append([]string{"--batch-script"}, Ever(ids...).args(c.Location)[1:]...)
	out, err := c.Runner.Run(ctx, "sacct", args...)
	if err != nil {
		return nil, err
	}
	title := []byte("Batch Script for ")
	for part := range bytes.SplitSeq(append([]byte("\n"), out...), append([]byte("\n"), title...)) {
		id, err := strconv.Atoi(string(bytes.TrimSpace(part[:max(0, bytes.IndexByte(part, '\n'))])))
		if script := parseScript(append(title[:len(title):len(title)], part...)); err == nil && script != nil && all[id] == nil {
			all[id] = script
		}
	}
	return all, nil
}

// parseScript reads sacct --batch-script: a title, a line, the script. Of
// several scripts, the first counts.
func parseScript(output []byte) []byte {
	title := []byte("Batch Script for ")
	_, rest, found := bytes.Cut(output, title)
	if !found {
		return nil
	}
	_, rest, _ = bytes.Cut(rest, []byte("\n"))
	line, script, _ := bytes.Cut(rest, []byte("\n"))
	if len(line) == 0 || len(bytes.Trim(line, "-")) > 0 {
		return nil
	}
	if next := bytes.Index(script, append([]byte("\n"), title...)); next >= 0 {
		script = script[:next+1]
	}
	if string(bytes.TrimSpace(script)) == "NONE" || !bytes.HasPrefix(script, []byte("#!")) {
		return nil
	}
	return script
}
