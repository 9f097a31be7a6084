package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// visitScript is a batch script of the user's own machine.
const visitScript = `#!/bin/bash
#SBATCH --partition=cpu --time=5
echo "$# words, the second: $2"
`

// visit is what a user does on the cluster from the own machine, by SSH.
func (s *story) visit(ctx context.Context) error {
	s.say("The head node by SSH, whose keys it left in the bucket; commands about jobs run there")
	if err := os.WriteFile(filepath.Join(s.files, "hello.sbatch"), []byte(visitScript), 0o644); err != nil {
		return err
	}
	for _, v := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"ssh", "--dry-run"}, 0, "-o StrictHostKeyChecking=yes"},
		{[]string{"ssh", "--", "-T", "id", "--user", "--name"}, 0, "ec2-user\n"},
		{[]string{"exec", "printf", "%s|", "a  b", "it's", "$HOME"}, 0, "a  b|it's|$HOME|"},
		{[]string{"exec", "--", "sh", "-c", "exit 7"}, 7, ""},
		{[]string{"run", "--quiet", "hello.sbatch", "one", "two and more"}, 0, "2 words, the second: two and more\n"},
		{[]string{"job", "list"}, 0, "hello.sbatch"},
		{[]string{"events"}, 0, "cpu-st-small-1"},
		{[]string{"exec", "muster", "status"}, 0, "controller ready"},
	} {
		answer, err := s.runWith(ctx, v.code, v.args...)
		if err != nil {
			return err
		}
		if !strings.Contains(strings.ReplaceAll(answer, "'", ""), strings.ReplaceAll(v.want, "'", "")) {
			return fmt.Errorf("the answer has no %q", v.want)
		}
	}
	return nil
}
