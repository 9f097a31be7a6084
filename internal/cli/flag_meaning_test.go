package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-hpc/muster/internal/place"
)

// bothPlaces are the flags, by command, that mean something for clusters on this
// machine and on AWS alike, or for none at all. One of neither list is new: say where
// it means something.
var bothPlaces = map[string]string{
	"up":             "on workload set no-test verify yes",
	"down":           "on delete-data yes",
	"exec":           "node",
	"shell":          "node", // refused on AWS with the command that does it there
	"ssh":            "user identity private ssm dry-run",
	"status":         "on",
	"top":            "once",
	"verify":         "nodes nodelist partition image budget want report baseline here alone diagnosis disk expect drain strict yes",
	"verify diff":    "",
	"verify proof":   "signature key",
	"verify page":    "junit",
	"nodes":          "all",
	"events":         "follow since",
	"check":          "fix dry-run strict online verbose schema set print-schema",
	"plan":           "models run price set ranks path",
	"run":            "no-follow force sbatch called model",
	"job submit":     "force sbatch called model all",
	"job script":     "model all to",
	"job init":       "name nodes gpus model queue launcher script python image checkpoints data time force",
	"job list":       "all last",
	"job report":     "since user by here price",
	"job adopt":      "checkpoints hang log-pattern model no-drain on-failure on-hang restarts start-up",
	"job logs":       "follow err rank",
	"import":         "region host-key forget",
	"image import":   "name arch authfile plain-http owners cache-limit force",
	"image build":    "tag file build-arg builder owners cache-limit",
	"image pack":     "tag env workdir",
	"image remove":   "yes of-steps",
	"image list":     "of-steps",
	"image verify":   "of-steps",
	"image prune":    "all cache-limit",
	"image":          "dir cache",
	"data clean":     "older pattern delete",
	"data export":    "wait",
	"data warm":      "nodes",
	"data push":      "endpoint-url region profile make-bucket delete yes include exclude storage-class sse-kms limit no-follow dry-run verbose checksum wait",
	"data restore":   "endpoint-url region profile checkpoint step replace limit dry-run wait",
	"data list":      "endpoint-url region profile files",
	"data pull":      "endpoint-url region profile include exclude delete limit dry-run yes verbose wait",
	"data verify":    "endpoint-url region profile include exclude head full sample seed keep-sample run limit wait",
	"demo":           "keep whole yes",
	"doctor":         "yes demo",
	"fleet stop":     "now yes",
	"node kill":      "",
	"catalog update": "region",
	"container run":  "",
}

func TestEveryFlagHasAPlace(t *testing.T) {
	each(func(c *cobra.Command, path string) {
		known := strings.Fields(bothPlaces[path])
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			for _, k := range known {
				if k == f.Name {
					return
				}
			}
			if !f.Hidden && f.Name != "help" && !slices.ContainsFunc(places, func(p place.Place) bool { return p.Lacks(c.Name(), f.Name) }) && !strings.HasPrefix(path, "container") {
				t.Errorf("%s --%s: where does it mean something?", path, f.Name)
			}
		})
	})
}

// each calls f for all commands that people see but the completion's.
func each(f func(c *cobra.Command, path string)) {
	walk((&app{}).root(), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "muster")
		if c.Hidden || c.HasParent() && c.Parent().Hidden || path == "" || strings.HasPrefix(path, " completion") || path == " help" {
			return
		}
		f(c, strings.TrimSpace(path))
	})
}

// TestEveryCommandMeetsNoSuchCluster holds that the script of clusters that are not
// there has every command that is about one.
func TestEveryCommandMeetsNoSuchCluster(t *testing.T) {
	script, err := os.ReadFile("testdata/script/no_such_cluster.txtar")
	if err != nil {
		t.Fatal(err)
	}
	each(func(c *cobra.Command, path string) {
		makesOne := path == "up"
		if !c.HasSubCommands() && !makesOne && !ofNoCluster(c) && !strings.Contains(string(script), "exits 1 muster "+path+" --cluster nosuch") {
			t.Errorf("%s is not in the script", path)
		}
	})
}

func TestWhere_fits(t *testing.T) {
	for _, row := range []struct {
		name, place string
		args        []string
		want        string // empty is no error
	}{
		{"two", "local", []string{"shell", "--ssm", "--user=x"}, "--ssm, --user are not for clusters on this machine, as u is: leave them out"},
		{"ssh_here", "local", []string{"ssh", "--user=x"}, "--user is not for clusters on this machine, as u is: leave it out"},
		{"not_given", "local", []string{"shell"}, ""},
		{"ways_on_aws", "aws", []string{"exec", "--ssm", "true"}, ""},
		{"identity_here", "local", []string{"exec", "-i", "key", "true"}, "--identity is not for clusters on this machine, as u is: leave it out"},
		{"node_here", "local", []string{"exec", "--node", "n", "true"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, rest, err := (&app{}).root().Find(row.args)
			if err == nil {
				err = c.ParseFlags(rest)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			at, err := placeOf(row.place)
			if err == nil {
				err = fits(c, at, "u")
			}
			if err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
