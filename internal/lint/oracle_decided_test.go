package lint_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// decision says that a difference from ParallelCluster is meant. It decides
// also that the file is taken or refused, where that follows.
type decision struct {
	// what and where are patterns of the difference and of the case's name.
	what, where string
	// reason is told in full in docs/decisions/0013.
	reason string
}

var decisions = []decision{
	// Taken, with a warning.
	{`misses schema required .*\.(Networking|SubnetId|SubnetIds)$`, ``, "a network that is not named is made"},
	{`misses ERROR NumberOfStorageValidator|adds WARNING storage/count`, ``, "new file systems are made, also several of a kind"},

	// Told as an info, where ParallelCluster warns.
	{`misses WARNING EfaPlacementGroupValidator|adds INFO efa/no-placement`, ``, "a reservation decides where its nodes stand"},
	{`misses WARNING DcvValidator|adds INFO dcv/gpu`, ``, "a desktop without a GPU is slow, and works"},
	{`misses WARNING KeyPairValidator|adds INFO head/no-key`, ``, "the user's own key is imported"},

	// Refused, as AWS or Slurm would.
	{`adds ERROR slurm/denied`, `ComputeResources\[0\]\.CustomSlurmSettings\.Features`, "the features of nodes are muster's"},
	{`adds ERROR storage/overlap`, ``, "ParallelCluster compares names where it means directories"},
	{`adds ERROR storage/duplicate`, `MountDir = io2`, "io2 and /io2 are one directory"},
	{`adds ERROR storage/name`, `Name = ""`, "an empty name is none"},
	{`adds ERROR lustre/capacity`, `-2400`, "a capacity below zero is a multiple of 2400, too"},
	{`adds ERROR ebs/throughput`, `VolumeType(: gp2, Throughput| = (standard|[gis][opt][12]|sc1)$)`, "only gp3 has a throughput"},
	{`adds ERROR ebs/root-type`, `VolumeType: (gp9|st1)`, "no root volume is st1, and gp9 is nothing"},
	{`adds ERROR network/elastic-ip`, `ElasticIp = (1|\[|\{|eipalloc-(x|0123456789ABCDEF0|0123456789abcdef$))`, "AWS is asked for an address"},
	{`adds ERROR queue/name`, `Name = "gpu\\n"`, "a line's end would break Slurm's files"},
	{`refuses`, `InstanceTypesData = 'x'`, "what is no JSON describes no types; ParallelCluster stumbles over it later"},
	{`refuses`, `SubnetId: \|\\n`, "an id with a line's end is none"},
	{`adds ERROR schema/(type|unknown)`, `OnNodeConfigured\.(Args|Unknown)`, "keys beside Sequence are lost"},
	{`refuses`, `ComputeResources = \[\]`, "a queue of no nodes breaks ParallelCluster's dry run, which asks AWS"},
	{`adds ERROR schema/required`, `OnNodeStart\.Script = ""`, "an empty script is none"},

	// Warned of, where ParallelCluster is silent.
	{`adds WARNING schema/type`, `MaxCount = 5\.7`, "a part of a node is lost"},
	{`adds WARNING actions/url-host`, `s3://bucket/$`, "a bucket's root is no script"},
	{`adds WARNING storage/mount`, `EphemeralVolume\.MountDir = `, "a directory that is named is looked at, whether or not the type has disks"},

	// Not said, because it is no problem.
	{`misses INFO DeletionPolicyValidator`, ``, "who writes Retain knows that it stays"},
	{`misses ERROR OverlappingMountDirValidator`, `Name = io2/sub`, "ParallelCluster compares names where it means directories"},

	// Not said, because something else is.
	{`misses ERROR EbsVolumeIopsValidator`, `Size = 0|RootVolume\.VolumeType = s[tc]1`, "a volume of no size, or that cannot be a root volume, has one error"},
	{`misses (ERROR|INFO) SchedulableMemoryValidator|adds ERROR schema/value`, `SchedulableMemory = (0|-5)`, "no memory is an error of the schema"},
	{`misses WARNING UrlValidator`, `"https:example.com" & `, "a file that may not be named has one error"},
	{`misses ERROR InstanceTypeBaseAMICompatibleValidator|adds ERROR instance/unknown`, `nonsense|p3\.2xlarge`, "a type that is not known has one error"},

	// Not said, because only AWS knows.
	{`misses ERROR InstanceTypeBaseAMICompatibleValidator`, `Pools\[0\]\.InstanceType = c7g`, "the architecture of an own image"},
	{`misses INFO MultiAz(Ebs|Root)VolumeValidator`, `subnet-0123456b`, "the zones of single subnets"},
	{`misses WARNING EfaValidator`, `InstanceType = ~~`, "the type of a reservation"},

	// Of the reader of YAML.
	{`accepts`, `-> \.\.\.`, "the end of a document before its start is no matter"},
}

// unheard are classes that the corpus cannot make speak.
var unheard = map[string]string{
	"SchedulerValidator":                      "the schema refuses other schedulers first",
	"ElasticIpValidator":                      "it asks AWS, which has every address here",
	"LoginNodesSshKeyNameDeprecatedValidator": "only 3.14 has it",
}

// numbers are those of list entries.
var numbers = regexp.MustCompile(`\[\d+\]`)

// decide takes the decided differences away. A decision that decides nothing
// is an error.
func decide(t *testing.T, found []disagreement) []disagreement {
	t.Helper()
	used := map[decision]bool{}
	decided := map[string][]string{}
	var rest []disagreement
	for _, d := range found {
		if known, ok := decisionOf(d); ok {
			used[known] = true
			decided[d.name] = append(decided[d.name], d.what)
			continue
		}
		rest = append(rest, d)
	}
	rest = slices.DeleteFunc(rest, func(d disagreement) bool { return follows(d.what, decided[d.name]) })
	for _, known := range decisions {
		if !used[known] {
			t.Errorf("nothing is decided by %q at %q", known.what, known.where)
		}
	}
	return rest
}

func decisionOf(d disagreement) (decision, bool) {
	for _, known := range decisions {
		what := regexp.MustCompile(fmt.Sprintf("^(%s)$", known.what))
		if what.MatchString(d.what) && regexp.MustCompile(known.where).MatchString(d.name) {
			return known, true
		}
	}
	return decision{}, false
}

// follows reports whether a file is taken because of an error that is decided
// not to be said, or refused because of one that is.
func follows(what string, decided []string) bool {
	because := map[string][]string{"accepts": {"misses ERROR", "misses schema"}, "refuses": {"adds ERROR"}}[what]
	for _, begin := range because {
		if slices.ContainsFunc(decided, func(d string) bool { return strings.HasPrefix(d, begin) }) {
			return true
		}
	}
	return false
}
