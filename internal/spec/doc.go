// Package spec reads what users say: the cluster file, an AWS ParallelCluster
// v3 configuration, and muster.yaml beside it. It gives a checked, typed model
// with ParallelCluster's defaults filled in, or every problem at once, each
// with its line and column.
//
// What ParallelCluster accepts at schema levels 3.11 to 3.16 is accepted. AWS
// ids are not looked up and may be placeholders. Strings that end up in Slurm's
// configuration cannot break out of their line.
//
// The schema is data (schema.tsv, workload.tsv); this package is the one home
// of YAML.
package spec
