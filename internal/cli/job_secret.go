package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// secretValues are values of secrets by the names of their variables.
type secretValues map[string][]byte

// secretsFlag says that the secrets of a job file come on the standard input, from a muster
// outside that has read them. Nothing but that muster gives it.
const secretsFlag = "secrets-on-stdin"

// secretsOnStdin adds the flag to a command that takes job files.
func secretsOnStdin(c *cobra.Command, into *bool) {
	c.Flags().BoolVar(into, secretsFlag, false, "the job file's secrets are on the standard input")
	_ = c.Flags().MarkHidden(secretsFlag) // it fails only for a flag that is not there
}

// mostSecret is how long a secret may be, in bytes: the most that Linux takes in a variable is twice that.
const mostSecret = 64 << 10

// secretsOf reads the secrets of a job file where their files and variables are, and with the credentials of whoever is there.
func secretsOf(ctx context.Context, j *jobfile.Job, v *vault) (secretValues, *diag.List) {
	values, list := secretValues{}, j.Problems()
	for _, s := range j.Secrets {
		at := "Secrets." + s.Name
		value, from, err := readSecret(ctx, j, s, v)
		if s.SecretsManager != "" && s.Key == "" && pairs(value) != nil {
			list.Warnf("job/secret", at, "%s becomes a JSON object: %s has pairs of keys and values", s.Name, from).WithHint("add Key for the value of one of them")
		}
		switch {
		case err != nil:
			list.Errorf("job/secret", at, "the value of %s cannot be read: %v", s.Name, err).
				WithHint("muster reads it where you submit the job")
		case len(value) == 0:
			list.Errorf("job/secret", at, "%s is empty: %s", s.Name, from)
		case len(value) > mostSecret:
			list.Errorf("job/secret", at, "%s has %d bytes, and a secret can have %d: %s", s.Name, len(value), mostSecret, from)
		case bytes.IndexByte(value, 0) >= 0:
			list.Errorf("job/secret", at, "%s has a zero byte, which no variable can have: %s", s.Name, from)
		}
		values[s.Name] = value
	}
	return values, list
}

// readSecret is a secret's value, and where it is from. Line breaks at the end of a file are not part of it.
func readSecret(ctx context.Context, j *jobfile.Job, s jobfile.Secret, v *vault) (value []byte, from string, err error) {
	if s.SecretsManager != "" {
		value, err = v.read(ctx, s.SecretsManager, s.Key)
		return value, "secret " + s.SecretsManager, err
	}
	if s.Environment != "" {
		text, ok := os.LookupEnv(s.Environment)
		if !ok {
			err = fmt.Errorf("%s is not set in the environment", s.Environment)
		}
		return []byte(text), "variable " + s.Environment, err
	}
	path, err := secretPath(j.File, s.File)
	if err != nil {
		return nil, "", err
	}
	value, err = whole.Read(path)
	return bytes.TrimRight(value, "\r\n"), path, err
}

// secretPath is the path of a secret's file: from the directory of the user, or else from the job file's.
func secretPath(job, path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Join(filepath.Dir(job), path), nil
}

// secretsOutside reads the secrets of a job file for the muster on the head node, which does not
// see their files. It is nil where there are none, or where the file has problems: those are said there.
func (a *app) secretsOutside(ctx context.Context, w where, file string, data []byte) ([]byte, error) {
	if !isJobFile(file, data) {
		return nil, nil
	}
	j, _ := jobfile.Parse(file, "/", data) // where other paths begin does not matter here
	if j == nil || len(j.Secrets) == 0 {
		return nil, nil
	}
	values, problems := secretsOf(ctx, j, newVault(w.region))
	if err := a.showProblems(problems); err != nil {
		return nil, err
	}
	return json.Marshal(values)
}

// withSecrets runs our command line again on a head node, which reads secrets from its standard input.
func (a *app) withSecrets(ctx context.Context, w where, args []string, secrets []byte) error {
	line := slices.Concat([]string{services.Muster}, flagsBefore(os.Args[1:], args), []string{"--" + secretsFlag}, args)
	return w.Enter(ctx, place.Program{Args: line, Quiet: true, Input: secrets})
}

// mostStdin is more than all secrets of a job take.
const mostStdin = 4 << 20

// secretsFor are the secrets of the jobs of a file: those that a muster outside has read, or else those that are here.
func (a *app) secretsFor(ctx context.Context, j *jobfile.Job, onStdin bool) (secretValues, error) {
	if len(j.Secrets) == 0 {
		return nil, nil
	}
	if guest() {
		return nil, fmt.Errorf("the secrets of %s cannot be kept: %w", j.File, errTheirs)
	}
	if !onStdin {
		values, problems := secretsOf(ctx, j, newVault(regionHere))
		return values, a.showProblems(problems)
	}
	values := secretValues{}
	if err := json.NewDecoder(io.LimitReader(a.in, mostStdin)).Decode(&values); err != nil {
		return nil, fmt.Errorf("read the secrets of %s: they did not come whole", j.File) // JSON's errors quote
	}
	for _, s := range j.Secrets {
		if len(values[s.Name]) == 0 {
			return nil, fmt.Errorf("read the secrets of %s: %s did not come", j.File, s.Name)
		}
	}
	return values, nil
}

// telling is how long a text is at least that is looked for in the environment.
const telling = 8

// telltale are variables that a job must not inherit, since Slurm writes down what it inherits: those that
// have a secret, whatever their names.
func (v secretValues) telltale(j *jobfile.Job, environ []string) []string {
	var names []string
	for _, s := range j.Secrets {
		names = append(names, s.Name)
		if s.Environment != "" {
			names = append(names, s.Environment)
		}
	}
	for _, line := range environ {
		name, text, _ := strings.Cut(line, "=")
		for _, value := range v {
			if len(value) >= telling && strings.Contains(text, string(value)) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// submitSecret submits a job with secrets. It is held until the head node has them, so that no run begins without, and says so for
// as long: whoever is killed meanwhile leaves a job of which the head node tells.
func (a *app) submitSecret(ctx context.Context, s slurm.Client, m madeJob) (int, error) {
	b := m.submit
	held := slices.Contains(b.flags, "--hold") || slices.Contains(b.flags, "-H")
	if !held {
		b.flags = append(slices.Clone(b.flags), "--hold")
	}
	b.unset = m.secrets.telltale(m.Job, os.Environ())
	if !held && !commented(b.flags) {
		b.flags = append(b.flags, "--comment="+client.AwaitsSecrets)
	}
	id, err := a.toSlurm(ctx, s, b, len(m.script.Text))
	if err != nil {
		return 0, err
	}
	if err := client.In(services.RunDir).KeepSecrets(ctx, id, client.SecretsRequest{Values: m.secrets}); err != nil {
		return 0, a.withdraw(ctx, s, id, err)
	}
	if held {
		return id, nil
	}
	// It has them: who stops now has a job that runs, and is told of it.
	ctx, cancel := slurm.Limited(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.Release(ctx, strconv.Itoa(id)); err != nil {
		return id, fmt.Errorf("let job %d go, whose secrets are there: %w; `scontrol release %d` does it", id, err, id)
	}
	return id, nil
}

// commented says that a job's user has given it a comment.
func commented(flags []string) bool {
	return slices.ContainsFunc(flags, func(f string) bool { return f == "--comment" || strings.HasPrefix(f, "--comment=") })
}

// withdraw takes a job back whose secrets the head node does not have.
func (a *app) withdraw(ctx context.Context, s slurm.Client, id int, why error) error {
	ctx, cancel := slurm.Limited(context.WithoutCancel(ctx))
	defer cancel()
	why = fmt.Errorf("hand the secrets of job %d to the head node: %w", id, why)
	if err := s.Cancel(ctx, strconv.Itoa(id)); err != nil {
		return fmt.Errorf("%w; the job waits, held: %w", why, err)
	}
	return why
}
