package account_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	taggingtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/account"
)

func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

func TestQuotas(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client := servicequotas.NewFromConfig(c.Config())
	c.Account.SetQuota(account.Quota{Code: "L-417A185B", Value: 192})
	c.Account.SetQuota(account.Quota{Service: "fsx", Code: "L-1", Name: "Lustre storage", Value: 5})
	for _, want := range []account.Quota{
		{Service: "ec2", Code: "L-417A185B", Name: "Running On-Demand P instances", Value: 192},
		{Service: "fsx", Code: "L-1", Name: "Lustre storage", Value: 5},
	} {
		out, err := client.GetServiceQuota(t.Context(), &servicequotas.GetServiceQuotaInput{ServiceCode: &want.Service, QuotaCode: &want.Code})
		if err != nil {
			t.Fatal(err)
		}
		if q := out.Quota; *q.QuotaName != want.Name || *q.Value != want.Value || *q.ServiceCode != want.Service {
			t.Errorf("got %v, want %v", q, want)
		}
	}
	_, err := client.GetServiceQuota(t.Context(), &servicequotas.GetServiceQuotaInput{ServiceCode: aws.String("ec2"), QuotaCode: aws.String("L-0")})
	if code(err) != "NoSuchResourceException" {
		t.Errorf("a quota that there is not: %v", err)
	}
	out, err := client.ListServiceQuotas(t.Context(), &servicequotas.ListServiceQuotasInput{ServiceCode: aws.String("fsx")})
	if err != nil || len(out.Quotas) != 1 {
		t.Errorf("quotas %v, %v", out, err)
	}
}

func TestQuotasThatNobodyChanged(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client, ec2Code, p := servicequotas.NewFromConfig(c.Config()), aws.String("ec2"), aws.String("L-417A185B")
	c.Account.DropQuota(*p)
	if _, err := client.GetServiceQuota(t.Context(), &servicequotas.GetServiceQuotaInput{ServiceCode: ec2Code, QuotaCode: p}); code(err) != "NoSuchResourceException" {
		t.Errorf("the account's own: %v", err)
	}
	out, err := client.GetAWSDefaultServiceQuota(t.Context(), &servicequotas.GetAWSDefaultServiceQuotaInput{ServiceCode: ec2Code, QuotaCode: p})
	if err != nil || *out.Quota.QuotaName != "Running On-Demand P instances" {
		t.Errorf("AWS's own: %v, %v", out, err)
	}
	_, err = client.GetAWSDefaultServiceQuota(t.Context(), &servicequotas.GetAWSDefaultServiceQuotaInput{ServiceCode: ec2Code, QuotaCode: aws.String("L-0")})
	if code(err) != "NoSuchResourceException" {
		t.Errorf("a quota that there is not: %v", err)
	}
}

func TestPricesOfLustre(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client, field, value := pricing.NewFromConfig(c.Config()), aws.String("regionCode"), aws.String("us-east-2")
	for _, kinds := range [][]string{{"SCRATCH_2", "PERSISTENT_2"}, nil} {
		c.Account.SetLustre(kinds...)
		out, err := client.GetProducts(t.Context(), &pricing.GetProductsInput{
			ServiceCode: aws.String("AmazonFSx"), Filters: []types.Filter{{Type: types.FilterTypeTermMatch, Field: field, Value: value}},
		})
		if err != nil || len(out.PriceList) != len(kinds) {
			t.Errorf("%v: %v, %v", kinds, out, err)
		}
	}
}

func TestPrices(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client := pricing.NewFromConfig(c.Config())
	for kind, want := range map[string]string{"c5.large": "0.0850000000", "p99.huge": ""} {
		filter := func(field, value string) types.Filter {
			return types.Filter{Type: types.FilterTypeTermMatch, Field: &field, Value: &value}
		}
		out, err := client.GetProducts(t.Context(), &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: []types.Filter{
			filter("instanceType", kind), filter("regionCode", "us-east-2"), filter("operatingSystem", "Linux"), filter("tenancy", "Shared"),
		}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, text := range out.PriceList {
			var product struct {
				Terms struct {
					OnDemand map[string]struct {
						PriceDimensions map[string]struct{ PricePerUnit struct{ USD string } }
					}
				}
			}
			if err := json.Unmarshal([]byte(text), &product); err != nil {
				t.Fatal(err)
			}
			for _, term := range product.Terms.OnDemand {
				for _, dimension := range term.PriceDimensions {
					got += dimension.PricePerUnit.USD
				}
			}
		}
		if got != want {
			t.Errorf("%s costs %q, want %q", kind, got, want)
		}
	}
}

func TestRightsOfPolicies(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client, ctx := iam.NewFromConfig(c.Config()), t.Context()
	trust := aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)
	role, err := client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("head"), AssumeRolePolicyDocument: trust})
	if err != nil {
		t.Fatal(err)
	}
	policy := `{"Version":"2012-10-17","Statement":[
		{"Effect":"Allow","Action":["ec2:Describe*","ec2:RunInstances"],"Resource":"*"},
		{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::bucket/clusters/c/*"},
		{"Effect":"Deny","Action":"ec2:DescribeVpcs","Resource":"*"},
		{"Effect":"Allow","Action":"ec2:TerminateInstances","Resource":"*","Condition":{"StringEquals":{"ec2:ResourceTag/muster:cluster":"c"}}}]}`
	if _, err := client.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String("head"), PolicyName: aws.String("p"), PolicyDocument: &policy}); err != nil {
		t.Fatal(err)
	}
	managed := aws.String("arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore")
	if _, err := client.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("head"), PolicyArn: managed}); err != nil {
		t.Fatal(err)
	}
	tagged := iamtypes.ContextEntry{ContextKeyName: aws.String("ec2:ResourceTag/muster:cluster"), ContextKeyType: "string", ContextKeyValues: []string{"c"}}
	tests := []struct {
		action, resource, want string
		context                []iamtypes.ContextEntry
	}{
		{"ec2:RunInstances", "*", "allowed", nil},
		{"ec2:DescribeInstances", "*", "allowed", nil},
		{"ec2:DescribeVpcs", "*", "explicitDeny", nil},
		{"ec2:CreateVpc", "*", "implicitDeny", nil},
		{"s3:GetObject", "arn:aws:s3:::bucket/clusters/c/site.json", "allowed", nil},
		{"s3:GetObject", "arn:aws:s3:::bucket/clusters/d/site.json", "implicitDeny", nil},
		{"ssm:UpdateInstanceInformation", "*", "allowed", nil},
		{"ec2:TerminateInstances", "*", "implicitDeny", nil},
		{"ec2:TerminateInstances", "*", "allowed", []iamtypes.ContextEntry{tagged}},
	}
	for _, tt := range tests {
		out, err := client.SimulatePrincipalPolicy(ctx, &iam.SimulatePrincipalPolicyInput{
			PolicySourceArn: role.Role.Arn, ActionNames: []string{tt.action}, ResourceArns: []string{tt.resource}, ContextEntries: tt.context,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(out.EvaluationResults[0].EvalDecision); got != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.action, tt.resource, got, tt.want)
		}
	}
}

func TestRightsThatATestTakes(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	me, err := sts.NewFromConfig(c.Config()).GetCallerIdentity(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := iam.NewFromConfig(c.Config())
	c.Account.Deny("ec2:Create*")
	ask := func(arn string) (*iam.SimulatePrincipalPolicyOutput, error) {
		return client.SimulatePrincipalPolicy(t.Context(), &iam.SimulatePrincipalPolicyInput{PolicySourceArn: &arn, ActionNames: []string{"ec2:CreateVpc", "ec2:RunInstances"}})
	}
	out, err := ask(*me.Arn)
	if err != nil || out.EvaluationResults[0].EvalDecision != "implicitDeny" || out.EvaluationResults[1].EvalDecision != "allowed" {
		t.Errorf("got %v, %v", out, err)
	}
	if _, err := ask("arn:aws:sts::" + cloud.Account + ":assumed-role/admin/me"); code(err) != "InvalidInput" {
		t.Errorf("a session is no entity: %v", err)
	}
}

func TestTaggedResources(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	client, machines := tagging.NewFromConfig(c.Config()), ec2.NewFromConfig(c.Config())
	label := []ec2types.Tag{{Key: aws.String("muster:cluster"), Value: aws.String("c")}}
	vpc, err := machines.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.3.0.0/16"), TagSpecifications: []ec2types.TagSpecification{{ResourceType: "vpc", Tags: label}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c-q", "other"} {
		in := &ec2.CreatePlacementGroupInput{GroupName: &name}
		if name == "c-q" {
			in.TagSpecifications = []ec2types.TagSpecification{{ResourceType: "placement-group", Tags: label}}
		}
		if _, err := machines.CreatePlacementGroup(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	out, err := client.GetResources(t.Context(), &tagging.GetResourcesInput{TagFilters: []taggingtypes.TagFilter{{Key: aws.String("muster:cluster"), Values: []string{"c"}}}})
	if err != nil || len(out.ResourceTagMappingList) != 2 {
		t.Fatalf("resources %v, %v; the network is %s", out, err, *vpc.Vpc.VpcId)
	}
}
