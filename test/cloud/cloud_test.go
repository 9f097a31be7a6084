package cloud_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// once is a configuration without the SDK's retries.
func once(c *cloud.Cloud) aws.Config {
	config := c.Config()
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return config
}

func TestCallsGoToMoto(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	ctx, config := t.Context(), c.Config()

	vpcs, err := ec2.NewFromConfig(config).DescribeVpcs(ctx, nil)
	if err != nil || len(vpcs.Vpcs) == 0 {
		t.Fatalf("VPCs: %v, %v", vpcs, err)
	}
	who, err := sts.NewFromConfig(config).GetCallerIdentity(ctx, nil)
	if err != nil || aws.ToString(who.Account) != cloud.Account {
		t.Errorf("caller: %v, %v", who, err)
	}
	if _, err := route53.NewFromConfig(config).ListHostedZones(ctx, nil); err != nil {
		t.Errorf("zones: %v", err)
	}
	if _, err := efs.NewFromConfig(config).DescribeFileSystems(ctx, nil); err != nil {
		t.Errorf("file systems: %v", err)
	}
	if _, err := ssm.NewFromConfig(config).DescribeParameters(ctx, nil); err != nil {
		t.Errorf("parameters: %v", err)
	}
	data := []types.MetricDatum{{MetricName: aws.String("m"), Value: aws.Float64(1.5)}}
	if _, err := cloudwatch.NewFromConfig(config).PutMetricData(ctx, &cloudwatch.PutMetricDataInput{Namespace: aws.String("n"), MetricData: data}); err != nil {
		t.Errorf("metrics: %v", err)
	}
	want := []cloud.Record{
		{Service: "ec2", Operation: "DescribeVpcs", By: "moto", Status: 200},
		{Service: "sts", Operation: "GetCallerIdentity", By: "moto", Status: 200},
		{Service: "route53", Operation: "ListHostedZones", By: "moto", Status: 200},
		{Service: "elasticfilesystem", Operation: "DescribeFileSystems", By: "moto", Status: 200},
		{Service: "ssm", Operation: "DescribeParameters", By: "moto", Status: 200},
		{Service: "monitoring", Operation: "PutMetricData", By: "moto", Status: 200},
	}
	got := c.Calls()
	if len(got) != len(want) {
		t.Fatalf("calls %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("call %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

func TestObjects(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client := s3.NewFromConfig(c.Config())
	bucket, text := aws.String("b-of-the-double"), strings.Repeat("bytes ", 1<<20)
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(c.Region())},
	}); err != nil {
		t.Fatal(err)
	}
	put := &s3.PutObjectInput{Bucket: bucket, Key: aws.String("a/b"), Body: strings.NewReader(text)}
	if _, err := client.PutObject(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	url, err := s3.NewPresignClient(client).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: aws.String("a/b")})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(url.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != text {
		t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
	}
	var operations []string
	for _, call := range c.Calls() {
		operations = append(operations, call.Operation)
	}
	if got := strings.Join(operations, " "); got != "CreateBucket PutObject GetObject" {
		t.Errorf("operations: %s", got)
	}
}

func TestAlarms(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client, ctx := cloudwatch.NewFromConfig(c.Config()), t.Context()
	plain := &cloudwatch.PutMetricAlarmInput{
		AlarmName: aws.String("plain"), MetricName: aws.String("m"), Namespace: aws.String("n"), Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1),
		Threshold: aws.Float64(-0.5), ComparisonOperator: types.ComparisonOperatorGreaterThanThreshold, Statistic: types.StatisticSum,
	}
	if _, err := client.PutMetricAlarm(ctx, plain); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutCompositeAlarm(ctx, &cloudwatch.PutCompositeAlarmInput{AlarmName: aws.String("both"), AlarmRule: aws.String("ALARM(plain)")}); err != nil {
		t.Fatal(err)
	}
	kinds := []types.AlarmType{types.AlarmTypeMetricAlarm, types.AlarmTypeCompositeAlarm}
	got, err := client.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmTypes: kinds})
	if err != nil || len(got.MetricAlarms) != 1 || len(got.CompositeAlarms) != 1 {
		t.Fatalf("alarms %v, %v", got, err)
	}
	if a := got.MetricAlarms[0]; aws.ToFloat64(a.Threshold) != -0.5 || aws.ToInt32(a.Period) != 60 || a.StateUpdatedTimestamp.IsZero() {
		t.Errorf("alarm %+v", a)
	}
	if _, err := client.DeleteAlarms(ctx, &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{"both", "plain"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := client.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmTypes: kinds}); err != nil || len(got.MetricAlarms)+len(got.CompositeAlarms) != 0 {
		t.Errorf("alarms after their end: %v, %v", got, err)
	}
}

func TestOfficialImages(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	images, err := ec2.NewFromConfig(c.Config()).DescribeImages(t.Context(), &ec2.DescribeImagesInput{
		Owners:  []string{"amazon"},
		Filters: []ec2types.Filter{{Name: aws.String("name"), Values: []string{"aws-parallelcluster-3.16.1-*-x86_64*"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(images.Images) != 5 {
		t.Errorf("%d images, want amzn2023, two of ubuntu, two of rhel", len(images.Images))
	}
	for _, i := range images.Images {
		if aws.ToString(i.ImageOwnerAlias) != "amazon" {
			t.Errorf("%s belongs to %s", aws.ToString(i.Name), aws.ToString(i.ImageOwnerAlias))
		}
	}
}

func TestWhatNobodyImplementsFails(t *testing.T) {
	var missing []string
	c := cloud.Start(t, cloud.Options{Missing: func(service, operation, _ string) { missing = append(missing, service+" "+operation) }})
	_, err := ec2.NewFromConfig(c.Config()).GetSpotPlacementScores(t.Context(), &ec2.GetSpotPlacementScoresInput{TargetCapacity: aws.Int32(1)})
	if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != "NotImplemented" {
		t.Errorf("error %v", err)
	}
	if len(missing) != 1 || missing[0] != "ec2 GetSpotPlacementScores" { // the SDK does not repeat it
		t.Errorf("missing: %v", missing)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name string
		rule cloud.Rule
		code string
	}{
		{"throttled", cloud.Rule{Kind: cloud.Throttled}, "RequestLimitExceeded"},
		{"internal", cloud.Rule{Kind: cloud.Internal}, "InternalError"},
		{"expired", cloud.Rule{Kind: cloud.Expired}, "RequestExpired"},
		{"denied", cloud.Rule{Kind: cloud.Denied, Service: "ec2", Operation: "DescribeVpcs"}, "UnauthorizedOperation"},
		{"own_code", cloud.Rule{Kind: cloud.Refused, Code: "VpcGone"}, "VpcGone"},
		{"other_service", cloud.Rule{Kind: cloud.Internal, Service: "s3"}, ""},
		{"other_operation", cloud.Rule{Kind: cloud.Internal, Operation: "RunInstances"}, ""},
		{"not_that_one", cloud.Rule{Kind: cloud.Internal, When: func(c *wire.Call) bool { return c.Form.Has("DryRun") }}, ""},
		{"of_the_double's_own_calls", cloud.Rule{Kind: cloud.Internal, Inner: true}, ""},
		{"never_by_chance", cloud.Rule{Kind: cloud.Internal, Chance: 1e-12}, ""},
		{"the_second_only", cloud.Rule{Kind: cloud.Internal, Skip: 1, Times: 1}, ""},
	}
	c := cloud.Start(t, cloud.Options{})
	client := ec2.NewFromConfig(once(c))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lift := c.Fail(tt.rule)
			defer lift()
			_, err := client.DescribeVpcs(t.Context(), nil)
			code := ""
			if e, ok := errors.AsType[smithy.APIError](err); ok {
				code = e.ErrorCode()
			}
			if code != tt.code {
				t.Errorf("code %q, want %q (%v)", code, tt.code, err)
			}
		})
	}
	if _, err := client.DescribeVpcs(t.Context(), nil); err != nil {
		t.Errorf("after all rules were lifted: %v", err)
	}
}

func TestFaultsSpeakEveryProtocol(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	config := once(c)
	c.Fail(cloud.Rule{Kind: cloud.Throttled})
	calls := map[string]struct {
		call func() error
		code string
	}{
		"query": {func() error { _, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil); return err }, "Throttling"},
		"json":  {func() error { _, err := ssm.NewFromConfig(config).DescribeParameters(t.Context(), nil); return err }, "ThrottlingException"},
		"cbor":  {func() error { _, err := cloudwatch.NewFromConfig(config).ListMetrics(t.Context(), nil); return err }, "ThrottlingException"},
		"s3":    {func() error { _, err := s3.NewFromConfig(config).ListBuckets(t.Context(), nil); return err }, "SlowDown"},
		"xml":   {func() error { _, err := route53.NewFromConfig(config).ListHostedZones(t.Context(), nil); return err }, "Throttling"},
		"rest":  {func() error { _, err := efs.NewFromConfig(config).DescribeFileSystems(t.Context(), nil); return err }, "ThrottlingException"},
	}
	for name, tt := range calls {
		t.Run(name, func(t *testing.T) {
			err := tt.call()
			if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != tt.code {
				t.Errorf("got %v, want %s", err, tt.code)
			}
			if retry.NewStandard().IsErrorRetryable(err) != true {
				t.Errorf("the SDK does not take %v for throttling", err)
			}
		})
	}
}

func TestALostAnswerIsCarriedOut(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client := ec2.NewFromConfig(once(c))
	hit := c.Cut(2)
	make1 := func() error {
		_, err := client.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")})
		return err
	}
	if err := make1(); err != nil {
		t.Fatal(err)
	}
	if _, ok := hit(); ok {
		t.Error("the first call was hit")
	}
	err := make1()
	if _, ok := errors.AsType[smithy.APIError](err); err == nil || ok {
		t.Fatalf("the second call got an answer: %v", err)
	}
	if what, ok := hit(); !ok || what.Operation != "CreateVpc" {
		t.Errorf("hit %v, %v", what, ok)
	}
	vpcs, err := client.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []ec2types.Filter{{Name: aws.String("cidr"), Values: []string{"10.9.0.0/16"}}}})
	if err != nil || len(vpcs.Vpcs) != 2 {
		t.Errorf("%d networks, want 2: %v", len(vpcs.Vpcs), err)
	}
}

func TestAfterACall(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client := ec2.NewFromConfig(once(c))
	var after []string
	c.After(2, func(call *wire.Call) { after = append(after, call.Action) })
	for range 3 {
		if _, err := client.DescribeVpcs(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := client.DescribeSubnets(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(after) != 1 || after[0] != "DescribeSubnets" {
		t.Errorf("after the second call: %v", after)
	}
}

func TestWhoAnsweredIsKept(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MUSTER_PROOF", dir)
	t.Run("calls", func(t *testing.T) {
		client := ec2.NewFromConfig(cloud.Start(t, cloud.Options{}).Config())
		if _, err := client.DescribeVpcs(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := client.DescribeInstances(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
	got, err := os.ReadFile(filepath.Join(dir, "TestWhoAnsweredIsKept_calls.tsv"))
	if want := "ec2\tDescribeVpcs\tmoto\nec2\tDescribeInstances\tdouble\n"; err != nil || string(got) != want {
		t.Errorf("got %q, want %q, %v", got, want, err)
	}
}

// TestOtherPrograms asks with the SDK of Python, in its own process.
func TestOtherPrograms(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	python := filepath.Join("..", "..", "bin", "py", "bin", "python")
	if dir := os.Getenv("MUSTER_PYTHON"); dir != "" {
		python = filepath.Join(dir, "bin", "python")
	}
	const script = `
import boto3
ec2 = boto3.client("ec2")
image = ec2.describe_images(Filters=[{"Name": "name", "Values": ["aws-parallelcluster-3.16.1-ubuntu-2404-*-x86_64*"]}])["Images"][0]["ImageId"]
made = ec2.run_instances(ImageId=image, InstanceType="c5.large", MinCount=2, MaxCount=2)["Instances"]
found = [i["InstanceId"] for page in ec2.get_paginator("describe_instances").paginate() for r in page["Reservations"] for i in r["Instances"]]
print(found == [i["InstanceId"] for i in made])
try:
    ec2.terminate_instances(InstanceIds=["i-00000000000000001"])
except ec2.exceptions.ClientError as e:
    print(e.response["Error"]["Code"])
`
	cmd := exec.CommandContext(t.Context(), python, "-c", script)
	cmd.Env = slices.DeleteFunc(append(os.Environ(), c.Env()...), func(v string) bool { return strings.HasPrefix(v, "AWS_PROFILE=") })
	out, err := cmd.CombinedOutput()
	if want := "True\nInvalidInstanceID.NotFound\n"; err != nil || string(out) != want {
		t.Errorf("got %s, want %s, %v", out, want, err)
	}
}

func TestALostCallIsNotCarriedOut(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client := ec2.NewFromConfig(once(c))
	c.Fail(cloud.Rule{Kind: cloud.LostCall, Operation: "CreateVpc"})
	if _, err := client.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")}); err == nil {
		t.Fatal("no error")
	}
	vpcs, err := client.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []ec2types.Filter{{Name: aws.String("cidr"), Values: []string{"10.9.0.0/16"}}}})
	if err != nil || len(vpcs.Vpcs) != 0 {
		t.Errorf("%d networks, want none: %v", len(vpcs.Vpcs), err)
	}
}
