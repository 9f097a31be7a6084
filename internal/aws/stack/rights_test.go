package stack

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/cfn"
)

// statements are those of all roles of a set, by role.
func statements(set Set) map[string][]cfn.Statement {
	out := map[string][]cfn.Statement{}
	for _, r := range set.Cluster.Template.Resources {
		role, ok := r.Properties.(cfn.Role)
		if !ok {
			continue
		}
		for _, p := range role.Policies {
			if p.PolicyName == "muster" {
				out[r.ID] = append(out[r.ID], p.PolicyDocument.Statement...)
			}
		}
	}
	return out
}

func TestRights_are_narrow(t *testing.T) {
	anything := []string{"LookAtFleet", "SessionManager", "WriteMetrics"}
	for name, set := range sets(t) {
		for role, all := range statements(set) {
			for _, s := range all {
				for _, action := range s.Action {
					if strings.HasSuffix(action, "*") {
						t.Errorf("%s: %s allows %s", name, role, action)
					}
					if strings.HasPrefix(action, "ec2:") && role != "HeadRole" {
						t.Errorf("%s: %s allows %s", name, role, action)
					}
				}
				for _, r := range s.Resource {
					if text, _ := r.Literal(); text == "*" && !slices.Contains(anything, s.Sid) {
						t.Errorf("%s: %s is for anything in %s", name, s.Sid, role)
					}
				}
			}
		}
	}
}

func TestRights_end_own_compute_nodes_alone(t *testing.T) {
	for name, set := range sets(t) {
		found := 0
		for role, all := range statements(set) {
			for _, s := range all {
				if !slices.Contains(s.Action, "ec2:TerminateInstances") {
					continue
				}
				found++
				own := s.Condition["StringEquals"]
				cluster, _ := own["aws:ResourceTag/muster:cluster"][0].Literal()
				kind, _ := own["aws:ResourceTag/muster:role"][0].Literal()
				if role != "HeadRole" || cluster != name || kind != "compute" {
					t.Errorf("%s: %s may end instances where %v", name, role, s.Condition)
				}
			}
		}
		if _, theirs := set.Cluster.Template.Resource("HeadRole"); theirs && found != 1 {
			t.Errorf("%s: %d statements end instances", name, found)
		}
	}
}

// TestRights_to_launch_fleets holds that a fleet is launched whether or not EC2 tells the
// launch template of the calls that it makes for it, and that others name their template.
func TestRights_to_launch_fleets(t *testing.T) {
	seen := map[string]bool{}
	for name, set := range sets(t) {
		fleets := false
		for _, r := range set.Cluster.Template.Resources {
			if l, ok := r.Properties.(cfn.LaunchTemplate); ok && r.ID != "HeadNodeTemplate" && l.LaunchTemplateData.InstanceType == "" {
				fleets = true
			}
		}
		for _, s := range statements(set)["HeadRole"] {
			if s.Sid != "LaunchWithTemplate" {
				continue
			}
			want := "ArnLike"
			if fleets {
				want = "ArnLikeIfExists"
			}
			seen[want] = true
			if s.Condition[want]["ec2:LaunchTemplate"] == nil {
				t.Errorf("%s: launches under %v, want %s", name, s.Condition, want)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("only %v are seen", seen)
	}
}

// TestRights_to_export holds that only the head node writes to the buckets of exports, below
// their prefixes, and deletes there only where the file says so.
func TestRights_to_export(t *testing.T) {
	got := map[string][]string{}
	for role, all := range statements(sets(t)["exports"]) {
		for _, s := range all {
			for _, r := range s.Resource {
				text, _ := r.Literal()
				if role == "HeadRole" && strings.HasPrefix(s.Sid, "Export") {
					got[text] = append(got[text], s.Action...)
				} else if strings.Contains(text, "muster-test-") {
					t.Errorf("%s has %v of %s", role, s.Action, text)
				}
			}
		}
	}
	put := []string{"s3:AbortMultipartUpload", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"}
	want := map[string][]string{
		"arn:aws:s3:::muster-test-runs": {"s3:ListBucket"}, "arn:aws:s3:::muster-test-elsewhere": {"s3:ListBucket", "s3:ListBucket"},
		"arn:aws:s3:::muster-test-runs/*":                  put,
		"arn:aws:s3:::muster-test-elsewhere/team/logs/*":   append(slices.Clone(put), "s3:DeleteObject"),
		"arn:aws:s3:::muster-test-elsewhere/checkpoints/*": append(slices.Clone(put), "s3:DeleteObject"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRights_to_compare_exports holds that the head node, and no other machine, may read what FSx for Lustre exports,
// below the prefixes alone, and that links without exports give no rights.
func TestRights_to_compare_exports(t *testing.T) {
	for name, want := range map[string]map[string][]string{
		"storage": {"arn:aws:s3:::bucket out/*": {"s3:ListBucket"}, "arn:aws:s3:::bucket/out/*": {"s3:GetObject"}},
		"least":   {},
	} {
		got := map[string][]string{}
		for role, all := range statements(sets(t)[name]) {
			for _, s := range all {
				if !strings.HasPrefix(s.Sid, "Link") {
					continue
				}
				if role != "HeadRole" {
					t.Errorf("%s has %s", role, s.Sid)
				}
				below := ""
				for _, prefix := range s.Condition["StringLikeIfExists"]["s3:prefix"] {
					text, _ := prefix.Literal()
					below += " " + text
				}
				for _, r := range s.Resource {
					text, _ := r.Literal()
					got[text+below] = append(got[text+below], s.Action...)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRights_to_see_names holds that nodes see no names of a shared bucket's other objects,
// and that users of login nodes take part in no session of Session Manager.
func TestRights_to_see_names(t *testing.T) {
	seen := 0
	for name, set := range sets(t) {
		own := set.m.file.CustomS3Bucket != ""
		for role, all := range statements(set) {
			for _, s := range all {
				if s.Sid == "SessionManager" && role != "HeadRole" {
					t.Errorf("%s: %s has %v", name, role, s.Action)
				}
				if s.Sid != "SeeThatNothingIsThere" {
					continue
				}
				seen++
				prefixes := s.Condition["StringLikeIfExists"]["s3:prefix"]
				if own != (len(prefixes) == 2) {
					t.Errorf("%s: %s lists a bucket under %v", name, role, s.Condition)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d statements are seen", seen)
	}
}
