package slurm

import (
	"context"
	"strconv"
	"strings"
)

// Conf is slurm.conf as slurmctld has read it, by key.
func (c Client) Conf(ctx context.Context) (map[string]string, error) {
	out, err := c.Runner.Run(ctx, "scontrol", "show", "config")
	if err != nil {
		return nil, err
	}
	return parseConf(out), nil
}

// parseConf reads scontrol show config.
func parseConf(output []byte) map[string]string {
	conf := map[string]string{}
	for line := range strings.Lines(string(output)) {
		if key, value, ok := strings.Cut(line, "="); ok {
			conf[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return conf
}

var licenseGrammar = grammar{first: "LicenseName"}

// Licenses are how many the cluster has of each license.
func (c Client) Licenses(ctx context.Context) (map[string]int, error) {
	out, err := c.show(ctx, "licenses")
	if err != nil {
		return nil, err
	}
	return parseLicenses(out), nil
}

// parseLicenses reads scontrol show licenses.
func parseLicenses(output []byte) map[string]int {
	all := map[string]int{}
	for _, r := range licenseGrammar.records(output, nil) {
		n, _ := strconv.Atoi(r.values["Total"])
		all[r.values["LicenseName"]] = n
	}
	return all
}

// Clusters are those of the accounting database.
func (c Client) Clusters(ctx context.Context) ([]string, error) {
	return c.column(ctx, "show", "cluster", "format=cluster")
}

// Qualities are the QoS of the accounting database.
func (c Client) Qualities(ctx context.Context) ([]string, error) {
	return c.column(ctx, "show", "qos", "format=name")
}

// Accounts are those that a user may charge.
func (c Client) Accounts(ctx context.Context, user string) ([]string, error) {
	return c.column(ctx, "show", "association", "user="+user, "format=account")
}

// column is what sacctmgr lists, each once. An empty list is not nil.
func (c Client) column(ctx context.Context, args ...string) ([]string, error) {
	out, err := c.Runner.Run(ctx, "sacctmgr", append([]string{"--noheader", "--parsable2", "--readonly"}, args...)...)
	if err != nil {
		return nil, err
	}
	all, seen := []string{}, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); name != "" && !seen[name] {
			all, seen[name] = append(all, name), true
		}
	}
	return all, nil
}
