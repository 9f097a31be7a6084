// Package spec reads what users say: the cluster file, an AWS ParallelCluster
// v3 configuration, and muster.yaml beside it. It gives a checked, typed model
// with ParallelCluster's defaults filled in, or every problem at once, each
// with its line and column.
//
// A file is read by one of the schema levels 3.11 to 3.16, with what that level
// of ParallelCluster accepts, and YAML means what it means there. AWS ids are
// not looked up; where AWS is not asked, they may be placeholders and the network
// may be missing. Strings that end up in Slurm's configuration cannot break out
// of their line.
//
// The model is sound wherever the cluster is: queues, compute resources and storage
// have names of their own, MinCount is no more than MaxCount, storage has the settings
// of its type, and directories that the file names do not lie in each other. Such rules
// about several keys are here, because machines, controllers and clusters on one machine
// act on a Cluster and ask lint nothing. A rule that a sound model can break is lint's.
//
// The schema is data (schema.tsv, workload.tsv), from which the checks, the JSON
// Schema for editors and the reference page come. It is held against recordings
// of ParallelCluster's own schema (testdata/parallelcluster). This package is
// the one home of YAML.
package spec
