package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Association is an account of a cluster, or a user in an account, as slurmdbd has it.
type Association struct {
	// Cluster is Slurm's name of the cluster, empty where one cluster was asked for.
	Cluster string
	Account string
	// User is empty for the account itself, Partition for all partitions.
	User, Partition string
	// Parent is the account that an account is part of.
	Parent string
	// Values are its shares and limits in Slurm's words, by the names of AssociationKeys. What is
	// inherited, and what has no limit, is empty.
	Values map[string]string
}

// Quality is a QoS as slurmdbd has it, with Values by the names of QualityKeys.
type Quality struct {
	Name   string
	Values map[string]string
}

// AccountName is an account of the database, on whatever cluster, with what it says of itself.
type AccountName struct{ Name, Description, Organization string }

// AssociationKeys and QualityKeys are what sacctmgr shows and sets of associations and QoS, by its names of 22.05 to 25.11.
var (
	AssociationKeys = []string{
		"FairShare", "GrpJobs", "GrpSubmitJobs", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpWall", "MaxJobs", "MaxSubmitJobs", "MaxTRES",
		"MaxTRESMins", "MaxTRESPerNode", "MaxWall", "DefaultQOS", "Priority", "QOS",
	}
	QualityKeys = []string{
		"Flags", "GraceTime", "GrpJobs", "GrpSubmitJobs", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpWall", "MaxJobsPerAccount", "MaxJobsPerUser",
		"MaxSubmitJobsPerAccount", "MaxSubmitJobsPerUser", "MaxTRES", "MaxTRESMins", "MaxTRESPerAccount", "MaxTRESPerNode", "MaxTRESPerUser",
		"MaxWall", "MinTRES", "Preempt", "PreemptMode", "Priority", "UsageFactor", "Description",
	}
)

// Associations are those of a cluster.
func (c Client) Associations(ctx context.Context, cluster string) ([]Association, error) {
	names := append([]string{"Account", "User", "Partition", "ParentName"}, AssociationKeys...)
	rows, err := c.table(ctx, names, "association", "cluster="+cluster, "WOPLimits", "WithRawQOSLevel")
	var all []Association
	for _, r := range rows {
		all = append(all, Association{Account: r[0], User: r[1], Partition: r[2], Parent: r[3], Values: valuesOf(AssociationKeys, r[4:])})
	}
	return all, err
}

// Entitled are a user's associations on a cluster, with the limits and QoS that hold for his jobs, inherited ones included.
func (c Client) Entitled(ctx context.Context, cluster, user string) ([]Association, error) {
	rows, err := c.table(ctx, append([]string{"Account", "Partition"}, AssociationKeys...), "association", "cluster="+cluster, "user="+user)
	var all []Association
	for _, r := range rows {
		all = append(all, Association{Account: r[0], User: user, Partition: r[1], Values: valuesOf(AssociationKeys, r[2:])})
	}
	return all, err
}

// Uses are the associations of all clusters of the database, with no more than the QoS that they may have.
func (c Client) Uses(ctx context.Context) ([]Association, error) {
	rows, err := c.table(ctx, []string{"Cluster", "Account", "User", "DefaultQOS", "QOS"}, "association", "WOPLimits", "WithRawQOSLevel")
	var all []Association
	for _, r := range rows {
		all = append(all, Association{Cluster: r[0], Account: r[1], User: r[2], Values: valuesOf([]string{"DefaultQOS", "QOS"}, r[3:])})
	}
	return all, err
}

// QOS are the QoS of the database.
func (c Client) QOS(ctx context.Context) ([]Quality, error) {
	rows, err := c.table(ctx, append([]string{"Name"}, QualityKeys...), "qos")
	var all []Quality
	for _, r := range rows {
		all = append(all, Quality{Name: r[0], Values: valuesOf(QualityKeys, r[1:])})
	}
	return all, err
}

// AccountNames are the accounts of the database, those without associations included.
func (c Client) AccountNames(ctx context.Context) ([]AccountName, error) {
	rows, err := c.table(ctx, []string{"Account", "Organization", "Description"}, "account")
	var all []AccountName
	for _, r := range rows {
		all = append(all, AccountName{Name: r[0], Organization: r[1], Description: r[2]})
	}
	return all, err
}

// DefaultAccounts are the accounts that users' jobs on a cluster are charged to if they name none.
func (c Client) DefaultAccounts(ctx context.Context, cluster string) (map[string]string, error) {
	// Without associations, sacctmgr shows a user's default of whichever cluster comes first.
	rows, err := c.table(ctx, []string{"User", "Cluster", "DefaultAccount"}, "user", "WithAssoc", "cluster="+cluster)
	all := map[string]string{}
	for _, r := range rows {
		if r[1] == cluster {
			all[r[0]] = r[2]
		}
	}
	return all, err
}

// Administrator says that slurmdbd lets a user do what Slurm's own user may, such as draining nodes. An Operator may not:
// slurmctld takes updates of nodes from super users alone (validate_super_user in its proc_req.c).
func (c Client) Administrator(ctx context.Context, user string) (bool, error) {
	rows, err := c.table(ctx, []string{"User", "AdminLevel"}, "user", "name="+user)
	return slices.ContainsFunc(rows, func(r []string) bool { return r[0] == user && r[1] == "Administrator" }), err
}

// table is what sacctmgr lists. The last column may have the separator in it, and a description that people gave lines.
func (c Client) table(ctx context.Context, columns []string, what ...string) ([][]string, error) {
	args := append([]string{"--noheader", "--parsable2", "--readonly", "show"}, what...)
	out, err := c.Runner.Run(ctx, "sacctmgr", append(args, "format="+strings.Join(columns, ","))...)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		row := strings.SplitN(line, "|", len(columns))
		if len(row) != len(columns) && len(rows) > 0 && columns[len(columns)-1] == "Description" {
			rows[len(rows)-1][len(columns)-1] += "\n" + line
			continue
		}
		if len(row) != len(columns) {
			return nil, fmt.Errorf("sacctmgr show %s: a line has %d columns instead of %d: %q", what[0], len(row), len(columns), shorten(line))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func valuesOf(keys, row []string) map[string]string {
	values := map[string]string{}
	for i, key := range keys {
		if row[i] != "" {
			values[key] = row[i]
		}
	}
	return values
}

// Account changes the database: what sacctmgr is to do, in its own words. It asks nothing back.
func (c Client) Account(ctx context.Context, args ...string) error {
	out, err := c.Runner.Run(ctx, "sacctmgr", append([]string{"--immediate"}, args...)...)
	if err == nil {
		return nil
	}
	// Why it did nothing it says on stdout, in several lines.
	if e, ok := errors.AsType[*ProgramError](err); ok {
		said := strings.FieldsFunc(e.Stderr+"\n"+string(out), func(r rune) bool { return r == '\n' })
		for i := range said {
			said[i] = strings.TrimSpace(strings.TrimPrefix(said[i], "sacctmgr: error: "))
		}
		said = slices.DeleteFunc(said, func(s string) bool { return s == "" })
		return &ProgramError{Program: e.Program, Stderr: strings.Join(said, "; "), Err: e.Err}
	}
	return err
}
