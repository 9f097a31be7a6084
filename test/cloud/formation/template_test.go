package formation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

func TestTemplatesAreRefused(t *testing.T) {
	d := start(t)
	role := m{"AssumeRolePolicyDocument": m{"Version": "2012-10-17", "Statement": []m{}}}
	many := m{}
	for i := range 501 {
		many[fmt.Sprintf("V%d", i)] = vpc()
	}
	param := func(p m) m { return m{"Parameters": m{"P": p}} }
	for name, row := range map[string]struct {
		body          *string
		code, message string
		params        []types.Parameter
	}{
		"not_json":          {body: aws.String("{\n\"Resources\": x}"), message: "Template format error: JSON not well-formed. (line 2, column 14)"},
		"no_resources":      {body: aws.String("{}"), message: "Template format error: At least one Resources member must be defined."},
		"unknown_part":      {body: template(m{"Net": vpc()}, m{"Resorces": m{}}), message: "Invalid template property or properties [Resorces]"},
		"unknown_types":     {body: template(m{"A": res("AWS::EC2::Vpc", m{}), "B": res("AWS::Foo::Bar", m{})}), message: "Template format error: Unrecognized resource types: [AWS::EC2::Vpc, AWS::Foo::Bar]"},
		"odd_name":          {body: template(m{"A-b": vpc()}), message: "Template format error: Resource name A-b is non alphanumeric."},
		"typo_in_ref":       {body: template(m{"A": subnet("10.1.0.0/24")}), message: "Template format error: Unresolved resource dependencies [Net] in the Resources block of the template"},
		"typo_in_output":    {body: template(m{"Net": vpc()}, m{"Outputs": m{"X": m{"Value": ref("Nt")}}}), message: "Template format error: Unresolved resource dependencies [Nt] in the Outputs block of the template"},
		"att_of_nothing":    {body: template(m{"Net": res("AWS::EC2::VPC", m{"CidrBlock": att("Other", "CidrBlock")})}), message: "Template error: instance of Fn::GetAtt references undefined resource Other"},
		"no_such_attribute": {body: template(m{"Net": vpc(), "A": res("AWS::EC2::Subnet", m{"VpcId": att("Net", "Nme")})}), message: "Template error: resource Net does not support attribute type Nme in Fn::GetAtt"},
		"circle": {body: template(m{"A": res("AWS::EC2::Subnet", m{"VpcId": ref("B")}), "B": res("AWS::EC2::Subnet", m{"VpcId": ref("A")})}),
			message: "Circular dependency between resources: [A, B]"},
		"too_many":              {body: template(many), message: "Template format error: Number of resources, 501, is greater than maximum allowed, 500"},
		"rights":                {body: template(m{"R": res("AWS::IAM::Role", role)}), code: "InsufficientCapabilitiesException", message: "Requires capabilities : [CAPABILITY_IAM]"},
		"rights_with_a_name":    {body: template(m{"R": res("AWS::IAM::Role", m{"RoleName": "x", "AssumeRolePolicyDocument": role})}), code: "InsufficientCapabilitiesException", message: "Requires capabilities : [CAPABILITY_NAMED_IAM]"},
		"missing_parameter":     {body: template(m{"Net": vpc()}, param(m{"Type": "String"})), message: "Parameters: [P] must have values"},
		"unknown_parameter":     {body: template(m{"Net": vpc()}), params: given("Q", "1"), message: "Parameters: [Q] do not exist in the template"},
		"value_not_allowed":     {body: template(m{"Net": vpc()}, param(m{"Type": "String", "AllowedValues": []string{"a"}})), params: given("P", "b"), message: "Parameter 'P' must be one of AllowedValues"},
		"value_of_no_number":    {body: template(m{"Net": vpc()}, param(m{"Type": "Number"})), params: given("P", "b"), message: "Parameter 'P' must be a number"},
		"value_of_no_pattern":   {body: template(m{"Net": vpc()}, param(m{"Type": "String", "AllowedPattern": "[a-z]+"})), params: given("P", "B"), message: "Parameter 'P' must match pattern [a-z]+"},
		"value_with_constraint": {body: template(m{"Net": vpc()}, param(m{"Type": "String", "MinLength": 3, "ConstraintDescription": "be long"})), params: given("P", "B"), message: "Parameter P failed to satisfy constraint: be long"},
	} {
		t.Run(name, func(t *testing.T) {
			code := row.code
			if code == "" {
				code = "ValidationError"
			}
			_, err := d.cfn.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("bad"), TemplateBody: row.body, Parameters: row.params})
			wantError(t, err, code, row.message)
		})
	}
	out, err := d.cfn.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{})
	d.must(err)
	if len(out.Stacks) > 0 {
		t.Errorf("refused templates made stacks: %v", out.Stacks)
	}
}

func given(name, value string) []types.Parameter {
	return []types.Parameter{{ParameterKey: &name, ParameterValue: &value}}
}

func TestTemplatesHaveLimits(t *testing.T) {
	d := start(t)
	long := template(m{"Net": vpc("Name", strings.Repeat("x", 51_200))})
	_, err := d.cfn.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("long"), TemplateBody: long})
	wantError(t, err, "ValidationError", "1 validation error detected: Value '"+*long+"' at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to 51200")
	d.bucket("templates")
	d.put("templates", "long.json", *long)
	where := aws.String("https://templates.s3.us-east-2.amazonaws.com/long.json")
	_, err = d.cfn.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("long"), TemplateURL: where})
	d.must(err)
	d.put("templates", "long.json", strings.Repeat(" ", 1<<20)+*long)
	_, err = d.cfn.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("long"), TemplateURL: where})
	wantError(t, err, "ValidationError", "Template may not exceed 1048576 bytes in size.")
	_, err = d.cfn.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("long"), TemplateURL: aws.String("https://templates.s3.us-east-2.amazonaws.com/none.json")})
	wantError(t, err, "ValidationError", "S3 error: The specified key does not exist.\nFor more information check http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html")
}

func TestFunctions(t *testing.T) {
	d := start(t)
	value := func(v any) m { return m{"Value": v} }
	st := d.create("fun", template(m{
		"Net":  res("AWS::EC2::VPC", m{"CidrBlock": ref("Range"), "Tags": m{"Fn::If": []any{"Big", []any{m{"Key": "secret", "Value": ref("Secret")}}, ref("AWS::NoValue")}}}),
		"Gone": m{"Type": "AWS::EC2::VPC", "Condition": "Small", "Properties": m{"CidrBlock": "10.9.0.0/16"}},
	}, m{
		"Parameters": m{"Range": m{"Type": "String", "Default": "10.2.0.0/16"}, "Names": m{"Type": "CommaDelimitedList"}, "Secret": m{"Type": "String", "NoEcho": true}},
		"Mappings":   m{"Sizes": m{"us-east-2": m{"disk": "40"}}},
		"Conditions": m{"Big": m{"Fn::And": []m{{"Fn::Equals": []any{ref("AWS::Region"), "us-east-2"}}, {"Fn::Or": []m{{"Condition": "Small"}, {"Fn::Equals": []string{"a", "a"}}}}}},
			"Small": m{"Fn::Not": []m{{"Fn::Equals": []string{"a", "a"}}}}},
		"Outputs": m{
			"a": value(m{"Fn::Join": []any{"-", ref("Names")}}),
			"b": value(m{"Fn::Select": []any{1, m{"Fn::Split": []any{":", "x:y:z"}}}}),
			"c": value(m{"Fn::Sub": "${AWS::StackName} ${Net.CidrBlock} ${!Literal}"}),
			"d": value(m{"Fn::Sub": []any{"${Own}/${Range}", m{"Own": m{"Fn::Base64": "hi"}}}}),
			"e": value(m{"Fn::FindInMap": []any{"Sizes", ref("AWS::Region"), "disk"}}),
			"f": value(m{"Fn::Join": []any{" ", m{"Fn::Cidr": []any{att("Net", "CidrBlock"), 3, 8}}}}),
			"g": value(m{"Fn::Select": []any{"0", m{"Fn::GetAZs": ""}}}),
			"h": m{"Condition": "Small", "Value": "never"},
			"i": m{"Value": "shared", "Export": m{"Name": m{"Fn::Sub": "${AWS::StackName}-i"}}},
		},
	}), func(in *cloudformation.CreateStackInput) {
		in.Parameters = append(given("Names", "one, two"), given("Secret", "quiet")...)
	})
	d.want(st, "CREATE_COMPLETE", "")
	for _, e := range d.events("fun") {
		if strings.Contains(aws.ToString(e.ResourceProperties), "quiet") {
			t.Errorf("an event tells the secret: %s", *e.ResourceProperties)
		}
	}
	want := map[string]string{"a": "one-two", "b": "y", "c": "fun 10.2.0.0/16 ${Literal}", "d": "aGk=/10.2.0.0/16", "e": "40",
		"f": "10.2.0.0/24 10.2.1.0/24 10.2.2.0/24", "g": "us-east-2a", "i": "shared"}
	for _, o := range st.Outputs {
		if *o.OutputValue != want[*o.OutputKey] {
			t.Errorf("output %s is %q, want %q", *o.OutputKey, *o.OutputValue, want[*o.OutputKey])
		}
		delete(want, *o.OutputKey)
	}
	if len(want) > 0 {
		t.Errorf("no outputs %v", want)
	}
	for _, p := range st.Parameters {
		if *p.ParameterKey == "Secret" && *p.ParameterValue != "****" {
			t.Errorf("the secret is %s", *p.ParameterValue)
		}
	}
	if _, ok := d.resources("fun")["Gone"]; ok {
		t.Error("a resource was made whose condition does not hold")
	}
	user := template(m{"Net": vpc("from", "")}, m{"Outputs": m{"x": value(m{"Fn::ImportValue": "fun-i"})}})
	if st := d.create("user", user); *st.Outputs[0].OutputValue != "shared" {
		t.Errorf("imported %v", st.Outputs)
	}
	st = d.remove("fun")
	if st.StackStatus == "DELETE_COMPLETE" || !strings.Contains(aws.ToString(st.StackStatusReason), "Cannot delete export fun-i as it is in use by user") {
		t.Errorf("a stack whose export is in use is %s: %s", st.StackStatus, aws.ToString(st.StackStatusReason))
	}
}

func TestPropertiesAreChecked(t *testing.T) {
	d := start(t)
	for name, row := range map[string]struct {
		props m
		want  string
	}{
		"unknown":        {m{"CidrBlock": "10.1.0.0/16", "Cidr": "x"}, "Properties validation failed for resource Net with message:\n#: extraneous key [Cidr] is not permitted"},
		"not_in_the_api": {m{"CidrBlock": m{"a": "b"}}, ""},
	} {
		st := d.create("p-"+strings.ReplaceAll(name, "_", "-"), template(m{"Net": res("AWS::EC2::VPC", row.props)}))
		d.want(st, "ROLLBACK_COMPLETE", "")
		if said := d.said(*st.StackId); !strings.Contains(said, "Net CREATE_FAILED "+row.want) {
			t.Errorf("%s: no %q in\n%s", name, row.want, said)
		}
	}
}

func TestManyEventsAndResourcesHavePages(t *testing.T) {
	d := start(t)
	all := m{"Net": vpc()}
	for i := range 110 {
		all[fmt.Sprintf("S%d", i)] = subnet(fmt.Sprintf("10.1.%d.0/24", i))
	}
	d.want(d.create("long", template(all)), "CREATE_COMPLETE", "")
	if n := len(d.resources("long")); n != 111 {
		t.Errorf("%d resources in pages, want 111", n)
	}
	if n := len(d.events("long")); n != 3*111+2 {
		t.Errorf("%d events in pages, want %d", n, 3*111+2)
	}
	got, err := d.cfn.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: aws.String("long")})
	d.must(err)
	if *got.TemplateBody != *template(all) {
		t.Error("the template is not the one that was sent")
	}
}
