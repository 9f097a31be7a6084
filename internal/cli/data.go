package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
)

// data has the commands about datasets in buckets.
func (a *app) data() *cobra.Command {
	c := &cobra.Command{
		Use:   "data",
		Short: dataShort,
		Long: `A dataset is a prefix of a bucket: its files are plain objects, and a manifest
that is put last has the checksum of each. So it is there whole, or it is not.

s3://BUCKET/PREFIX is of AWS, by the credentials and settings that AWS's programs
use, or where AWS_ENDPOINT_URL or --endpoint-url leads. With --cluster or
MUSTER_CLUSTER it is of that cluster's buckets: of a cluster on this machine they
are in its own S3 server, of one on AWS in its region.`,
		Example: "  muster data push ./dataset s3://my-bucket/dataset --make-bucket\n  muster data verify s3://my-bucket/dataset --sample 3 --run ./validate_dataset.py\n  muster data pull s3://my-bucket/dataset /fsx/dataset",
	}
	c.AddCommand(
		a.dataClean(),
		a.dataExport(),
		a.dataList(),
		a.dataPull(),
		a.dataRestore(),
		a.dataPush(),
		a.dataWarm(),
		a.dataVerify(),
	)
	for _, sub := range c.Commands() {
		sub.Args = noneEmpty(sub.Args)
	}
	return c
}

// noneEmpty refuses empty arguments: they come of variables that are not set, and as a path would mean this directory.
func noneEmpty(then cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if slices.Contains(args, "") {
			return fault.Usage(errors.New("an argument is empty: is a variable not set? This directory is written as a dot"))
		}
		if then == nil {
			return nil
		}
		return then(c, args)
	}
}

const dataShort = "Bring datasets to buckets and back, every byte proven"
