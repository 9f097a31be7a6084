// Package place is the contract of the places where clusters are made and run: this
// machine, AWS. Commands ask a place for all that they do with its clusters, and know none
// by name; a new place is a new package that keeps this contract.
package place

import (
	"context"
	"io"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/status"
)

// Place is where clusters are. Its methods say with coded errors of package fault what
// programs want to tell apart.
type Place interface {
	// Name is what --on calls it, On where its clusters are: "on this machine".
	Name() string
	On() string
	// Here is why this machine can have nothing to do with its clusters, nil if it can.
	Here() error
	// Known are the clusters that there are by this machine's notes, which are in home.
	Known(home string) ([]Known, error)
	// Kept are those that were taken down and whose data is kept on this machine.
	Kept(home string) []Kept
	// Asks says that the place itself can be asked for clusters, of which this machine need
	// have no notes.
	Asks() bool
	// Lacks says that a flag of a command means nothing for its clusters.
	Lacks(command, flag string) bool
	// Open is the cluster of a name, whether there is one or not: what there is of it its
	// methods say. It refuses a cluster of another user.
	Open(home, name string, t Talk) (Cluster, error)
	// Read reads and checks the files of a cluster, and shows their problems.
	Read(ctx context.Context, f Files, t Talk) (Wanted, error)
	// Look looks at clusters. Missing clusters are left out.
	Look(ctx context.Context, q Query) ([]status.Cluster, error)
}

// Query says at which clusters to look.
type Query struct {
	Home string
	// Name is the cluster's, empty for all.
	Name string
	// Only says that the user asked for this place.
	Only bool
}

// Known is a cluster, with the file that it was made of, which is empty if unknown.
type Known struct{ Name, File string }

// Kept is a cluster that was taken down, and the folder where its data is.
type Kept struct {
	Known
	Dir string
}

// Files are what a cluster is made of: the paths of the cluster file and of muster.yaml,
// which is the one beside it where that is empty. Variables fill in the cluster file.
type Files struct {
	Cluster, Workload string
	Variables         *spec.Variables
}

// Wanted is what a cluster is to be, read from its files.
type Wanted interface {
	// Up makes it so, whatever there is of it: nothing, a part after a crash, or one that
	// runs jobs.
	Up(ctx context.Context, o UpOptions) (Answer, error)
}

// UpOptions say which cluster Up makes, and how.
type UpOptions struct {
	Home, Name string
	// Version is this program's.
	Version string
	// NoTest leaves the test job out, Verify runs it even if nodes have to start for it: they are verified then.
	NoTest, Verify bool
	// Yes answers the questions.
	Yes bool
}

// Cluster is a cluster of a place.
type Cluster interface {
	// Taken is why there can be no cluster of its name at another place, nil if there can:
	// one name means one cluster.
	Taken(by Other) error
	// Near is the way to a cluster whose head node is a part of this machine, nil for others:
	// what looks at those runs on their head nodes.
	Near() Near
	// Enter runs a program there with our input and output, and ends as that does: with a
	// fault.PassedOn.
	Enter(ctx context.Context, p Program) error
	// Shell opens a shell on the head node, or on a node.
	Shell(ctx context.Context, node string, w Way) error
	// SSH becomes an SSH that leads to the head node.
	SSH(ctx context.Context, o SSHOptions) error
	// HostKeys are the keys by which the head node's SSH server is known, each a line as
	// OpenSSH writes it. It fails where there is no such cluster.
	HostKeys(ctx context.Context) ([]string, error)
	// S3 is where the cluster's buckets are. It fails where there is no such cluster.
	S3(ctx context.Context) (S3, error)
	// Send makes a batch script of this machine one that the head node can read, and returns
	// its path there.
	Send(ctx context.Context, script string, text []byte) (string, error)
	// Fleet lets the fleet run, or stops it.
	Fleet(ctx context.Context, o client.FleetOrder) error
	// Down takes the cluster down and returns what remains.
	Down(ctx context.Context, o DownOptions) (Answer, error)
}

// Other is a cluster that somebody wants to make: of a file, at a place that he chose if
// Chosen.
type Other struct {
	File   string
	Chosen bool
}

// SSHOptions say what SSH gets. With DryRun its command line is only written.
type SSHOptions struct {
	Args   []string
	DryRun bool
	Way    Way
}

// Program is what runs on a machine of a cluster.
type Program struct {
	// Args is its command line. services.Muster as its first word is the muster that is
	// there.
	Args []string
	// Node is the machine, empty for the head node.
	Node string
	// Quiet says that it reads our input only from a terminal.
	Quiet bool
	// Input, if there is any, is what it reads instead of our input. Nobody else can read it.
	Input []byte
	// Output, if there is one, gets what it writes instead of our output.
	Output io.Writer
	Way    Way
}

// Way says how to reach a head node. It is empty for the usual way.
type Way struct {
	// User and Identity, a file, are whom and with which key to log in.
	User, Identity string
	// Private asks for the private address, Session for Session Manager.
	Private, Session bool
}

// DownOptions say how Down is done.
type DownOptions struct {
	// DeleteData also deletes the data on file systems and in buckets.
	DeleteData bool
	// Yes answers the questions.
	Yes bool
}
