package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/test/cloud"
)

func TestTogether(t *testing.T) {
	zones := []string{"r-1a", "r-1b", "r-1c"}
	offered := map[string][]string{"big": {"r-1c", "r-1b"}, "small": {"r-1a", "r-1b", "r-1c"}, "other": {"r-1a"}}
	for _, row := range []struct {
		name  string
		types []string
		want  []string
		err   string
	}{
		{"both", []string{"big", "small"}, []string{"r-1b", "r-1c"}, ""},
		{"apart", []string{"big", "other"}, nil, "no zone of r-1 has all of the cluster's instance types: big is in r-1b, r-1c; other is in r-1a"},
		{"unknown", []string{"big", "none"}, nil, "none is in none"},
	} {
		t.Run(row.name, func(t *testing.T) {
			have := map[string][]string{}
			for _, name := range row.types {
				if offered[name] != nil {
					have[name] = offered[name]
				}
			}
			got, err := together("r-1", zones, row.types, have)
			if diff := gocmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("got %v, want %s", err, row.err)
			}
		})
	}
}

func TestNewerImage(t *testing.T) {
	image := func(name, date string) types.Image {
		return types.Image{Name: aws.String(name), CreationDate: aws.String(date)}
	}
	a := image("aws-parallelcluster-3.16.9-amzn2023-hvm-x86_64-202601", "2026-09")
	b := image("aws-parallelcluster-3.16.10-amzn2023-hvm-x86_64-202601", "2026-01")
	c := image("x-aws-parallelcluster-3.16.10-amzn2023-hvm-x86_64-202602", "2026-02")
	if newer(b, a) <= 0 || newer(c, b) <= 0 || newer(a, c) >= 0 {
		t.Error("release, then age, decides which image is the newest")
	}
}

func TestCredentialsInWords(t *testing.T) {
	t.Setenv("AWS_PROFILE", "work")
	for code, want := range map[string]string{
		"ExpiredToken":          "the AWS credentials have expired; run `aws sso login --profile work`, or export new ones",
		"InvalidClientTokenId":  "AWS does not know this access key; run `aws configure`, or set AWS_PROFILE to another profile",
		"SignatureDoesNotMatch": "the secret key does not belong to the access key, or this machine's clock is wrong; run `aws configure`, and look at the clock",
		"UnauthorizedOperation": "UnauthorizedOperation: no",
	} {
		err := words(fmt.Errorf("frame: %w", &smithy.GenericAPIError{Code: code, Message: "no"}))
		if err.Error() != want {
			t.Errorf("%s: got %q, want %q", code, err, want)
		}
		if _, ok := errors.AsType[*CredentialsError](err); ok != (code != "UnauthorizedOperation") {
			t.Errorf("%s is a matter of credentials: %t", code, ok)
		}
	}
}

func TestTagged(t *testing.T) {
	for _, row := range []struct {
		name string
		want Left
		ok   bool
	}{
		{"arn:aws:ec2:us-east-2:1:instance/i-1", Left{}, false},
		{"arn:aws:s3:::some-bucket", Left{Kind: "bucket", ID: "some-bucket", doubtful: true}, true},
		{"arn:aws:logs:us-east-2:1:log-group:/aws/muster/x:*", Left{Kind: "log group", ID: "/aws/muster/x", doubtful: true}, true},
		{"arn:aws:route53:::hostedzone/Z1", Left{Kind: "DNS zone", ID: "Z1", USDPerMonth: 0.5, Known: true, doubtful: true}, true},
		{"arn:aws:ec2:us-east-2:1:vpc/vpc-1", Left{Kind: "ec2", ID: "vpc/vpc-1", Known: true, Free: true}, true},
	} {
		got, ok := tagged(row.name)
		if ok != row.ok || got != row.want {
			t.Errorf("%s: got %+v, %t", row.name, got, ok)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, row := range []struct {
		name, domain string
		want         bool
	}{
		{"q-dy-r-1.demo.example.org.", "demo.example.org", true}, {"demo.example.org.", "demo.example.org", false},
		{"xdemo.example.org.", "demo.example.org", false}, {"anything.", "", true},
	} {
		if got := below(row.name, row.domain); got != row.want {
			t.Errorf("%s below %q: %t", row.name, row.domain, got)
		}
	}
}

func TestCallerAddress(t *testing.T) {
	for _, row := range []struct {
		name, body, want string
		code             int
	}{
		{"address", "192.0.2.7\n", "192.0.2.7", http.StatusOK},
		{"page_of_a_portal", "<html>", "", http.StatusOK},
		{"refused", "192.0.2.7", "", http.StatusForbidden},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(row.code)
				fmt.Fprint(w, row.body)
			}))
			defer server.Close()
			got, err := callerAddress(t.Context(), server.URL)
			if (err == nil) != (row.want != "") || err == nil && got.String() != row.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestLookUps(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	for _, setting := range c.Env() {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	ctx := t.Context()
	a, err := Open(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if who, err := a.Identity(ctx); err != nil || who.Account != cloud.Account || who.Partition != "aws" {
		t.Errorf("identity %+v, %v", who, err)
	}
	image, err := a.newest(ctx, inventory.Official{Level: "3.16", OS: "ubuntu2404"}, "arm64")
	if err != nil || image.Release != "3.16.1" || image.Arch != "arm64" || image.RootDevice == "" {
		t.Errorf("image %+v, %v", image, err)
	}
	if _, err := a.newest(ctx, inventory.Official{Level: "3.16", OS: "alinux2"}, "amd64"); err == nil || err.Error() != "ParallelCluster 3.16 has no image for alinux2 any more: write Os: alinux2023" {
		t.Errorf("a system of the past: %v", err)
	}
	if _, err := a.newest(ctx, inventory.Official{Level: "3.16", OS: "rocky9"}, "amd64"); err == nil || !strings.Contains(err.Error(), "CustomAmi") {
		t.Errorf("a system without images: %v", err)
	}
	if zones, err := a.Zones(ctx, []string{"c5.large"}, map[string][]string{"c5.large": {"us-east-2a", "us-east-2b"}}); err != nil || len(zones) < 2 {
		t.Errorf("zones %v, %v", zones, err)
	}
	if _, err := a.subnets(ctx, []string{"subnet-0123456789abcdef0"}); err == nil || !strings.Contains(err.Error(), "subnet-0123456789abcdef0") {
		t.Errorf("a subnet that is not there: %v", err)
	}
}

// TestTerminate ends all instances that EC2 knows. It does not begin with a call in
// which there is one that it does not know.
func TestTerminate(t *testing.T) {
	const known, other, gone, secondGone = "i-00000000000000001", "i-00000000000000002", "i-0000000000000dead", "i-0000000000000beef"
	for _, row := range []struct {
		name, mute string
		ids, ended []string
		fails      bool
	}{
		{name: "all_known", ids: []string{known, other}, ended: []string{known, other}},
		{name: "one_gone", ids: []string{gone, known, other}, ended: []string{known, other}},
		{name: "two_gone", ids: []string{known, gone, secondGone, other}, ended: []string{known, other}},
		{name: "only_gone", ids: []string{gone}},
		{name: "not_said_which", mute: "something is missing", ids: []string{gone, known}, fails: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var ended []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var all []string
				for i := 1; r.FormValue(fmt.Sprint("InstanceId.", i)) != ""; i++ {
					all = append(all, r.FormValue(fmt.Sprint("InstanceId.", i)))
				}
				for _, id := range all {
					if id == gone || id == secondGone {
						says := cmp.Or(row.mute, "The instance ID '"+id+"' does not exist")
						w.WriteHeader(http.StatusBadRequest)
						fmt.Fprintf(w, "<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>%s</Message></Error></Errors></Response>", says)
						return
					}
				}
				ended = append(ended, all...)
				fmt.Fprint(w, "<TerminateInstancesResponse><instancesSet/></TerminateInstancesResponse>")
			}))
			defer server.Close()
			a := Of(aws.Config{Region: "us-east-2", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
			if err := a.Terminate(t.Context(), row.ids); (err != nil) != row.fails {
				t.Errorf("got %v", err)
			}
			if diff := gocmp.Diff(row.ended, ended); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
		})
	}
}
