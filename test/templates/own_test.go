package templates

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOwn_things_are_known_as_ours holds that what docs/aws-policy.json allows by path or
// by tag alone is below that path or has that tag.
func TestOwn_things_are_known_as_ours(t *testing.T) {
	seen := map[string]int{}
	for _, path := range ourFiles(t) {
		var have template
		decode(t, path, &have)
		for id, r := range have.Resources {
			at := filepath.Base(path) + ": " + id
			switch r.Type {
			case "AWS::IAM::Role", "AWS::IAM::InstanceProfile":
				// The file of "iam" has a ResourcePrefix, and so a path of its own.
				if own, _ := r.Properties["Path"].(string); !strings.HasPrefix(own, "/muster/") && filepath.Base(path) != "iam.cluster.json" {
					t.Errorf("%s is below %q", at, own)
				}
			case "AWS::EC2::Instance", "AWS::EC2::Volume", "AWS::FSx::FileSystem", "AWS::EFS::FileSystem":
				if !slices.ContainsFunc([]string{"Tags", "FileSystemTags"}, func(p string) bool { return tag(r.Properties[p], "muster:cluster") != "" }) {
					t.Errorf("%s has no tag muster:cluster", at)
				}
			default:
				continue
			}
			seen[r.Type]++
		}
	}
	if len(seen) != 6 {
		t.Errorf("only %v are seen", seen)
	}
}
