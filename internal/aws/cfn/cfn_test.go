package cfn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/cfn"
)

func TestJSON_keeps_the_order(t *testing.T) {
	template := cfn.Template{
		Description: "a <b> & c",
		Parameters:  []cfn.Parameter{{Name: "Z"}, {Name: "A", Description: "first"}},
		Resources: []cfn.Resource{
			{ID: "Second", DependsOn: []string{"First"}, Policy: cfn.Snapshot, Properties: cfn.EIP{Domain: "vpc"}},
			{ID: "First", Properties: cfn.GatewayAttachment{VpcId: cfn.Ref("Z"), InternetGatewayId: cfn.Att("Second", "Id")}},
		},
		Outputs: []cfn.Output{{Name: "Out", Value: cfn.Sub("${First}-${AWS::Region}")}},
	}
	got, err := template.JSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"AWSTemplateFormatVersion":"2010-09-09","Description":"a <b> & c",` +
		`"Parameters":{"Z":{"Type":"String"},"A":{"Type":"String","Description":"first"}},` +
		`"Resources":{"Second":{"Type":"AWS::EC2::EIP","DependsOn":["First"],"DeletionPolicy":"Snapshot","UpdateReplacePolicy":"Snapshot",` +
		`"Properties":{"Domain":"vpc","Tags":null}},` +
		`"First":{"Type":"AWS::EC2::VPCGatewayAttachment","Properties":{"VpcId":{"Ref":"Z"},"InternetGatewayId":{"Fn::GetAtt":["Second","Id"]}}}},` +
		`"Outputs":{"Out":{"Value":{"Fn::Sub":"${First}-${AWS::Region}"}}}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		name string
		text cfn.Text
		want string
	}{
		{"literal", cfn.Lit("a"), `"a"`},
		{"sub_without_anything", cfn.Sub("a"), `"a"`},
		{"sub_of_a_literal", cfn.Sub(cfn.Literal("${HOME}")), `{"Fn::Sub":"${!HOME}"}`},
		{"base64", cfn.Base64(cfn.Lit("<&>")), `{"Fn::Base64":"<&>"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.text.MarshalJSON()
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
	if !(cfn.Text{}).IsZero() || cfn.Lit("").IsZero() {
		t.Error("only the zero value is absent")
	}
}

func TestJSON_holds_the_limits(t *testing.T) {
	many := func(n int) (out []cfn.Resource) {
		for i := range n {
			out = append(out, cfn.Resource{ID: fmt.Sprint("R", i), Properties: cfn.EIP{Domain: "vpc"}})
		}
		return out
	}
	for _, c := range []struct {
		name     string
		template cfn.Template
		want     string
	}{
		{"resources", cfn.Template{Resources: many(501)}, "the template has 501 resources, and CloudFormation takes 500"},
		{"outputs", cfn.Template{Outputs: []cfn.Output{{Name: "O"}, {Name: "O"}}}, "two outputs of the template are called O"},
		{"parameters", cfn.Template{Parameters: make([]cfn.Parameter, 201)}, "the template has 201 parameters, and CloudFormation takes 200"},
		{"twice", cfn.Template{Resources: append(many(1), many(1)...)}, "two resources of the template are called R0"},
		{"bytes", cfn.Template{Description: strings.Repeat("x", cfn.MaxBytes)}, "bytes, and CloudFormation takes 1000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.template.JSON(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := (cfn.Template{Resources: many(500)}).JSON(); err != nil {
		t.Error(err)
	}
}

func TestLaunchTemplateData_takes_overrides(t *testing.T) {
	data := cfn.LaunchTemplateData{
		ImageId: "ami-1", UserData: cfn.Base64(cfn.Sub("${A}")),
		Overrides: []byte(`{"ImageId":"ami-2","KernelId":null,"HibernationOptions":{"Configured":false,"Other":null},"Licenses":[{"Arn":"a","B":null}]}`),
	}
	got, err := data.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ImageId":"ami-2"`, `"HibernationOptions":{"Configured":false}`, `"Licenses":[{"Arn":"a"}]`, `"UserData":{"Fn::Base64":{"Fn::Sub":"${A}"}}`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if strings.Contains(string(got), "KernelId") {
		t.Errorf("KernelId is in %s", got)
	}
	data.Overrides = []byte(`[`)
	if _, err := data.MarshalJSON(); err == nil {
		t.Error("no error for overrides that are no JSON")
	}
}

func TestUnion(t *testing.T) {
	next := `{"Description":"new","Resources":{"A":{"Type":"T","Properties":{"Size":2}}}}`
	for _, c := range []struct {
		name, former, want string
		wider              bool
	}{
		{"nothing_has_left", `{"Resources":{"A":{"Type":"T","Properties":{"Size":1}}}}`, next, false},
		{"nothing_was_there", `{"Resources":{}}`, next, false},
		{
			"something_has_left",
			`{"Description":"old","Parameters":{"P":{"Type":"String"}},"Resources":{"A":{},"B":{"Type":"U"}},"Outputs":{"O":{"Value":"<b>"}}}`,
			`{"Description":"new","Outputs":{"O":{"Value":"<b>"}},"Parameters":{"P":{"Type":"String"}},` +
				`"Resources":{"A":{"Type":"T","Properties":{"Size":2}},"B":{"Type":"U"}}}`,
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, wider, err := cfn.Union([]byte(next), []byte(c.former))
			if err != nil || wider != c.wider || string(got) != c.want {
				t.Errorf("got %s, %v, %v", got, wider, err)
			}
		})
	}
	if _, _, err := cfn.Union([]byte(next), []byte("AWSTemplateFormatVersion: yaml")); err == nil {
		t.Error("no error for a former template that is no JSON")
	}
}
