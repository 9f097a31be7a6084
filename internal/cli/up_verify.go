package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
)

// gateSuites are those of a bare --verify: what takes seconds, and is wrong on a cluster that cannot train.
const gateSuites = verify.Basic + "," + verify.Host

// gate is --verify of `muster up`: the suites that a cluster has to pass when it is up. The zero value wants none.
type gate []string

// String implements pflag.Value.
func (g *gate) String() string { return strings.Join(*g, ",") }

// Type implements pflag.Value.
func (g *gate) Type() string { return "string" }

// Set implements pflag.Value. A truth value says whether the usual suites are wanted.
func (g *gate) Set(text string) error {
	if wanted, err := strconv.ParseBool(text); err == nil {
		text = gateSuites
		if !wanted {
			*g = nil
			return nil
		}
	}
	asked := strings.Split(text, ",")
	for _, s := range asked {
		switch {
		case !slices.Contains(verify.Suites(), s):
			return noneOf("suite", s, verify.Suites())
		case s == verify.Container:
			return errors.New("suite container looks into an image: `muster verify container --image IMAGE` does once the cluster is up")
		}
	}
	*g = slices.DeleteFunc(verify.Suites(), func(s string) bool { return !slices.Contains(asked, s) })
	return nil
}

// pass has the cluster that is up verified on the nodes of its test job, by the command that everybody has. Its report is in the
// answer; a cluster that fails is an error, and stays up.
func (a *app) pass(ctx context.Context, c place.Cluster, suites gate, answer *place.Answer) error {
	again := fmt.Sprintf("`muster verify %s --cluster %s`", strings.Join(suites, " "), answer.Cluster)
	if answer.TestJob == nil {
		return fmt.Errorf("cluster %s is up, and was not verified, as its test job did not run; %s verifies it", answer.Cluster, again)
	}
	began := time.Now()
	report, err := a.verified(ctx, c, suites, *answer.TestJob)
	if err != nil {
		return fmt.Errorf("cluster %s is up, and could not be verified: %w; %s tries again", answer.Cluster, err, again)
	}
	answer.Verify = &report
	done := step.Step{Name: "verify", Detail: strings.Join(suites, ", ") + " on " + verifySummary(report), Seconds: time.Since(began).Seconds()}
	answer.Steps = append(answer.Steps, done)
	a.reporter().Done(done)
	if a.output != "json" && report.Verdict != verify.Pass {
		if err := a.verifyText(report); err != nil {
			return err
		}
	}
	if report.Verdict == verify.Fail || report.Error != "" {
		return fmt.Errorf("cluster %s is up, and fails its verification: %s; it stays up: %s looks again, `muster down --cluster %[1]s` takes it away", answer.Cluster, failures(report), again)
	}
	return reportError(report, false) // what nobody could look at
}

// verified is the report of `muster verify` on a cluster's nodes.
func (a *app) verified(ctx context.Context, c place.Cluster, suites []string, on place.TestJob) (verify.Report, error) {
	var out bytes.Buffer
	var report verify.Report
	line := append([]string{services.Muster, "verify"}, suites...)
	line = append(line, "--nodelist="+slurm.Compress(on.Nodes), "--yes", "--output=json")
	if on.Partition != "" {
		line = append(line, "--partition="+on.Partition)
	}
	if a.quiet {
		line = append(line, "--quiet")
	}
	err := c.Enter(ctx, place.Program{Args: line, Quiet: true, Output: &out})
	if ctx.Err() != nil {
		return report, context.Cause(ctx)
	}
	ended, known := errors.AsType[fault.PassedOn](err)
	if err != nil && !known {
		return report, err
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || report.Schema == 0 {
		return report, fmt.Errorf("muster verify ended with exit code %d and no report", int(ended))
	}
	return report, nil
}

// failures are what a report says is wrong, shortly.
func failures(r verify.Report) string {
	const most = 3
	var all []string
	for _, s := range r.Suites {
		if s.Verdict != verify.Fail {
			continue
		}
		before := len(all)
		for _, f := range s.Results {
			if f.Verdict == verify.Fail || f.Verdict == verify.Blind && f.Required {
				all = append(all, strings.TrimSpace(s.Name+" "+f.Check+" "+f.On))
			}
		}
		if len(all) == before {
			all = append(all, s.Name)
		}
	}
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("%d more", more))
	}
	if r.Error != "" {
		all = append(all, r.Error)
	}
	return strings.Join(all, ", ")
}
