package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/catalog"
)

// Adopted is what this machine knows of a cluster that ParallelCluster made. muster does
// not change such a cluster.
type Adopted struct {
	// Version is ParallelCluster's.
	Version string `json:"version"`
	// User is the user that people log in as.
	User string `json:"user,omitempty"`
	// Head is the head node, and HostKeys its keys for SSH; they may be empty.
	Head string `json:"head,omitempty"`
	// InstanceType is the head node's.
	InstanceType string   `json:"instance_type,omitempty"`
	HostKeys     []string `json:"host_keys,omitempty"`
}

// AdoptOptions say which cluster Adopt is to look for.
type AdoptOptions struct {
	Name, Home string
	Account    *api.Account
	// HostKeys are the head node's keys if the caller knows them.
	HostKeys []string
}

// Adoption is what Adopt found.
type Adoption struct {
	Record
	// Notes say what could not be found out.
	Notes []string
}

// Adopt finds a cluster that ParallelCluster made and writes down where it is. It may
// be called again, and then finds what has changed.
func Adopt(ctx context.Context, o AdoptOptions) (Adoption, error) {
	var found Adoption
	if old, err := RecordOf(o.Home, o.Name); err == nil && old.Adopted == nil {
		return found, fmt.Errorf("cluster %s is muster's own; there is nothing to adopt", o.Name)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	who, err := o.Account.Identity(ctx)
	if err != nil {
		return found, err
	}
	state, err := theirStack(ctx, o.Account, o.Name)
	if err != nil {
		return found, err
	}
	found.Record = Record{
		Name: o.Name, Region: o.Account.Region, Account: who.Account, Bucket: state.Parameters["ResourcesS3Bucket"],
		Adopted: &Adopted{Version: state.Tags[api.TheirVersionTag], User: state.Parameters["ClusterUser"]},
	}
	if err := found.keys(ctx, o); err != nil {
		return found, err
	}
	if err := found.file(ctx, o, state); err != nil {
		return found, err
	}
	return found, found.write(o.Home)
}

// theirStack finds the stack of a cluster that ParallelCluster made.
func theirStack(ctx context.Context, a *api.Account, name string) (cloudformation.State, error) {
	state, err := cloudformation.New(a.Config()).Describe(ctx, name)
	switch {
	case errors.Is(err, cloudformation.ErrNoStack):
		return state, fmt.Errorf("there is no stack %s in %s; --region names another region", name, a.Region)
	case err != nil:
		return state, err
	case state.Tags[clusterTag] == name:
		return state, fmt.Errorf("cluster %s is muster's own; `muster status --cluster %s` finds it", name, name)
	case state.Tags[api.TheirClusterTag] != name && state.Tags[api.TheirVersionTag] == "":
		return state, fmt.Errorf("stack %s in %s is none of ParallelCluster's", name, a.Region)
	}
	if s := state.Parameters["Scheduler"]; s != "" && s != "slurm" {
		return state, fmt.Errorf("cluster %s has the scheduler %s, and muster knows Slurm alone", name, s)
	}
	return state, nil
}

// keys finds the head node and its keys. Keys that were given go before others.
func (f *Adoption) keys(ctx context.Context, o AdoptOptions) error {
	head, err := theirHead(ctx, o.Account, o.Name)
	if err != nil {
		f.Notes = append(f.Notes, err.Error())
		return nil
	}
	f.Adopted.Head, f.Adopted.InstanceType, f.Adopted.HostKeys = head.ID, head.Type, o.HostKeys
	if len(o.HostKeys) > 0 {
		return nil
	}
	if f.Adopted.HostKeys, err = o.Account.HostKeys(ctx, head.ID); err != nil {
		return err
	}
	if old, err := RecordOf(o.Home, o.Name); err == nil && len(f.Adopted.HostKeys) == 0 && old.Adopted.Head == head.ID {
		f.Adopted.HostKeys = old.Adopted.HostKeys
	}
	if len(f.Adopted.HostKeys) == 0 {
		f.Notes = append(f.Notes, "the console of the head node does not show its SSH keys any more: `muster ssh --ssm` goes by Session Manager; "+
			"--host-key says a line of its /etc/ssh/ssh_host_ed25519_key.pub")
	}
	return nil
}

// configKey is where ParallelCluster keeps the file of a cluster below its part of the
// bucket: pcluster/constants.py and models/s3_bucket.py of ParallelCluster 3.
const configKey = "/configs/cluster-config.yaml"

// file copies the cluster's file, in the version that is in force.
func (f *Adoption) file(ctx context.Context, o AdoptOptions, state cloudformation.State) error {
	root := state.Parameters["ArtifactS3RootDirectory"]
	if f.Bucket == "" || root == "" {
		f.Notes = append(f.Notes, "the stack does not say where the cluster's file is")
		return nil
	}
	text, err := o.Account.Text(ctx, f.Bucket, root+configKey, state.Parameters["ConfigVersion"])
	if err != nil {
		f.Notes = append(f.Notes, "the cluster's file: "+err.Error())
		return nil
	}
	path := adoptedFile(o.Home, o.Name)
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	f.File = path
	return os.WriteFile(path, text, 0o600)
}

func adoptedFile(home, name string) string { return filepath.Join(home, recordDir, name+".yaml") }

// Forget forgets a cluster that ParallelCluster made. The cluster itself stays.
func Forget(home, name string) error {
	r, err := RecordOf(home, name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this machine knows of no cluster %s on AWS", name)
	}
	if err != nil {
		return err
	}
	if r.Adopted == nil {
		return fmt.Errorf("cluster %s is muster's own: `muster down --cluster %s` takes it down", name, name)
	}
	if err := os.Remove(adoptedFile(home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return forget(home, name)
}

// theirs refuses to change a cluster that ParallelCluster made.
func theirs(home, name, instead string) error {
	if r, err := RecordOf(home, name); err == nil && r.Adopted != nil {
		return fmt.Errorf("cluster %s is ParallelCluster's: %s", name, fmt.Sprintf(instead, name, r.Region))
	}
	return nil // a record that cannot be read is another step's error
}

// checkUp refuses a name that is a cluster's that ParallelCluster made.
func checkUp(home, name string) error {
	return theirs(home, name, "`pcluster update-cluster -n %s -r %s` changes it, --cluster gives yours another name")
}

// theirHead is the head node of a cluster that ParallelCluster made.
func theirHead(ctx context.Context, a *api.Account, name string) (api.Instance, error) {
	all, err := a.TheirInstances(ctx, name)
	if err != nil {
		return api.Instance{}, err
	}
	for _, i := range all {
		if i.Role == manifest.RoleHead && !i.Gone() {
			return i, nil
		}
	}
	return api.Instance{}, fmt.Errorf("cluster %s has no head node in %s", name, a.Region)
}

// theirWay is the way to the head node of a cluster that ParallelCluster made.
func theirWay(ctx context.Context, a *api.Account, r Record) (connect.Head, error) {
	i, err := theirHead(ctx, a, r.Name)
	if err != nil {
		return connect.Head{}, err
	}
	if i.State != "running" {
		return connect.Head{}, fmt.Errorf("the head node %s of cluster %s is %s", i.ID, r.Name, i.State)
	}
	h := connect.Head{
		Cluster: r.Name, Region: a.Region, Instance: i.ID, Public: i.Public, Private: i.Address, KeyName: i.KeyName,
		User: r.Adopted.User, HostKeys: r.Adopted.HostKeys,
	}
	if r.Adopted.Head != i.ID {
		h.HostKeys = nil // an earlier head node's
	}
	return h, nil
}

// Program is muster for a machine of an instance type: its file on this machine, and
// the file's SHA-256.
func Program(instanceType string) (path, sha256 string, err error) {
	arch := "amd64"
	if t, ok := catalog.Lookup(instanceType); ok {
		arch = t.Arch
	}
	all, err := builds([]string{arch}, nil)
	return all[arch].path, all[arch].program.SHA256, err
}

// theirStatus looks at a cluster that ParallelCluster made.
func theirStatus(ctx context.Context, a *api.Account, r Record) Status {
	s := Status{Region: a.Region, State: "gone", Adopted: r.Adopted}
	driver := cloudformation.New(a.Config())
	state, err := driver.Describe(ctx, r.Name)
	switch {
	case errors.Is(err, cloudformation.ErrNoStack):
		return s
	case err != nil:
		s.Blind = append(s.Blind, err.Error())
		return s
	}
	s.stack(ctx, driver, state)
	s.State = cmp.Or(inMotion(found{r.Name: state}), "up")
	s.count(a.TheirInstances(ctx, r.Name))
	head, err := theirHead(ctx, a, r.Name)
	switch {
	case s.State == "failed":
		s.Look = append(s.Look, "its stack is "+state.Status+": `pcluster describe-cluster -n "+r.Name+"` says more")
	case s.State != "up":
		s.Look = append(s.Look, "it is "+s.State)
	case err != nil:
		s.State, s.Look = "stopped", append(s.Look, err.Error())
	case head.State != "running":
		s.State, s.Look = "stopped", append(s.Look, fmt.Sprintf("its head node %s is %s", head.ID, head.State))
	}
	return s
}
