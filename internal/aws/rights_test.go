package aws_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"

	double "github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

const everyKind = plainFile + `SharedStorage:
  - {Name: disk, MountDir: /disk, StorageType: Ebs, EbsSettings: {Size: 40, DeletionPolicy: Delete}}
  - {Name: things, MountDir: /things, StorageType: Efs, EfsSettings: {DeletionPolicy: Delete}}
LoginNodes:
  Pools:
    - {Name: in, InstanceType: c5.large, Count: 1, Networking: {}}
`

// TestRights_of_a_life makes a cluster and takes it away, and shows each call of muster
// and of CloudFormation to a judge of policies that is not ours, with the resources that
// the policy names and the tags that they have at that moment: docs/aws-policy.json
// allows them all.
func TestRights_of_a_life(t *testing.T) {
	python := pythonOf(t)
	seen := &asked{roles: map[string]string{}, all: map[ask]bool{}}
	w := newWorldOf(t, double.Options{Region: region, Speed: 600, Watch: seen.see})
	seen.tags = tagging.NewFromConfig(w.Config())
	w.heads()
	r := &told{t: t}
	if _, err := w.up(t.Context(), everyKind, zfs, r); err != nil {
		t.Fatal(err)
	}
	if _, err := w.down(t.Context(), true, r); err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile("../../docs/aws-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(map[string]any{"policy": string(policy), "asks": slices.Collect(maps.Keys(seen.all)), "refused": strange})
	if err != nil {
		t.Fatal(err)
	}
	judge := exec.CommandContext(t.Context(), python, "-c", judgement)
	judge.Stdin = bytes.NewReader(in)
	judge.Stderr = os.Stderr
	out, err := judge.Output()
	if err != nil || strings.TrimSpace(string(out)) != "" {
		t.Errorf("judged otherwise (%v):\n%s", err, out)
	}
	if len(seen.all) < 100 {
		t.Errorf("only %d calls are seen: %v", len(seen.all), seen.all)
	}
}

// judgement prints where two judges err on a policy: ministack's, which knows resources
// and conditions, and moto's, which knows resources. moto enforces a policy at each call,
// too, but asks about the resource "*" then, which no statement with resources allows.
const judgement = `
import json, sys
from ministack.core import iam_evaluator as iam
from moto.iam.access_control import IAMPolicy, PermissionResult
data = json.load(sys.stdin)
policy, moto = iam.parse_policy_document(data["policy"]), IAMPolicy(data["policy"])
def judge(ask, right):
    keys = {"aws:resourcetag/muster:cluster": "demo"} if ask["Tagged"] else {}
    if ask["Service"]:
        keys["iam:passedtoservice"] = ask["Service"]
    context = iam.EvalContext(principal_arn="arn:aws:iam::123456789012:user/me", principal_type="User", principal_account="123456789012",
        action=ask["Action"], resource_arn=ask["Resource"], region="us-east-2", source_ip="192.0.2.1", secure_transport=True, service_context=keys)
    if (iam.evaluate(context, [policy]).decision == "Allow") != right:
        print("ministack:", ask)
    if (moto.is_action_permitted(ask["Action"], ask["Resource"]) == PermissionResult.PERMITTED) != right:
        print("moto:", ask)
for ask in data["asks"]:
    judge(ask, True)
for ask in data["refused"]:
    judge(ask, False)
`

// strange is what the policy allows nobody.
var strange = []ask{
	{Action: "iam:CreateUser", Resource: "*"},
	{Action: "iam:CreateRole", Resource: "arn:aws:iam::" + double.Account + ":role/other"},
	{Action: "iam:PassRole", Resource: "arn:aws:iam::" + double.Account + ":role/other", Service: "ec2.amazonaws.com"},
}

// pythonOf is the Python of `make python`.
func pythonOf(t *testing.T) string {
	t.Helper()
	at := os.Getenv("MUSTER_PYTHON")
	if at == "" {
		at = "../../bin/py"
	}
	path := filepath.Join(at, "bin", "python")
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("%s is missing: make python", path)
	}
	return path
}

// ask is what IAM is asked for a call.
type ask struct {
	Action, Resource, Service string
	Tagged                    bool
}

// asked are all that a life asks.
type asked struct {
	tags *tagging.Client

	mu    sync.Mutex // guards what follows
	roles map[string]string
	all   map[ask]bool
}

func (a *asked) add(one ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[one] = true
}

// see takes a call.
func (a *asked) see(c *wire.Call) {
	action := iamName(c)
	one := ask{Action: action, Resource: "*"}
	switch service, name, _ := strings.Cut(action, ":"); {
	case action == "sts:GetCallerIdentity":
		return // needs no right
	case service == "iam":
		one.Resource = a.identity(c, name)
	case slices.Contains([]string{"ec2:DeleteVolume", "ec2:TerminateInstances", "elasticfilesystem:DeleteFileSystem"}, action):
		one.Resource, one.Tagged = a.tagged(c)
	case action == "ec2:ImportKeyPair":
		one.Resource = "arn:aws:ec2:us-east-2:" + double.Account + ":key-pair/" + c.Form.Get("KeyName")
	case service == "logs" && name != "DescribeLogGroups" && name != "ListTagsForResource" && name != "TagResource":
		var in struct {
			LogGroupName string `json:"logGroupName"`
		}
		_ = json.Unmarshal(c.Body, &in) // who names no group is refused
		one.Resource = "arn:aws:logs:us-east-2:" + double.Account + ":log-group:" + in.LogGroupName
	}
	a.add(one)
}
