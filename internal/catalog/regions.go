package catalog

// RegionsOf is the release of ParallelCluster whose list of regions this is.
const RegionsOf = "3.16.1"

// Regions are those that ParallelCluster supports, from its own list
// (resources/supported-regions of release 3.16.1, 2026-07). ParallelCluster looks for a
// newer list in S3 first.
func Regions() []string {
	return []string{
		"af-south-1", "ap-east-1", "ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-1", "ap-southeast-2",
		"ap-southeast-3", "ap-southeast-5", "ap-southeast-7", "ca-central-1", "cn-north-1", "cn-northwest-1",
		"eu-central-1", "eu-north-1", "eu-south-1", "eu-west-1", "eu-west-2", "eu-west-3", "il-central-1", "me-south-1",
		"sa-east-1", "us-east-1", "us-east-2", "us-gov-east-1", "us-gov-west-1", "us-iso-east-1", "us-iso-west-1",
		"us-isob-east-1", "us-west-1", "us-west-2",
	}
}
