package cloudformation

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlain(t *testing.T) {
	for _, row := range []struct{ name, reason, want string }{
		{"as_it_is", "Resource creation cancelled", "Resource creation cancelled"},
		{"handler", `Resource handler returned message: "no room" (RequestToken: 7f, HandlerErrorCode: GeneralServiceException)`, "no room"},
		{"both", `Resource handler returned message: "no room (Service: Ec2, Status Code: 400, Request ID: 1) (SDK Attempt Count: 1)" (RequestToken: 7f, HandlerErrorCode: X)`, "no room"},
		{"service", "no room (Service: Ec2; Status Code: 400; Error Code: X; Request ID: 1; Proxy: null)", "no room"},
		{"lines", "no\n room", "no room"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := plain(row.reason); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

const withLinks = `{"Description": "d", "Resources": {
"A": {"Type": "T", "DeletionPolicy": "Retain", "Properties": {}},
"ALink": {"Type": "T", "Properties": {"Of": {"Ref": "A"}}},
"Second": {"Type": "T", "Properties": {"Of": {"Fn::GetAtt": ["ALink", "X"]}}},
"B": {"Type": "T", "Properties": {"Text": {"Fn::Sub": "a ${B2.Arn} b"}}},
"B2": {"Type": "T", "DependsOn": ["C"]}, "C": {"Type": "T"}},
"Outputs": {"AId": {"Value": {"Ref": "A"}}, "BId": {"Value": {"Ref": "B"}}}}`

func TestWithout(t *testing.T) {
	for _, row := range []struct {
		name          string
		gone          []string
		left, outputs []string
	}{
		{"nothing", nil, []string{"A", "ALink", "B", "B2", "C", "Second"}, []string{"AId", "BId"}},
		{"with_what_refers_to_it", []string{"A"}, []string{"B", "B2", "C"}, []string{"BId"}},
		{"by_sub_and_dependence", []string{"C"}, []string{"A", "ALink", "Second"}, []string{"AId"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, err := Without([]byte(withLinks), row.gone)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Description        string
				Resources, Outputs map[string]any
			}
			if err := json.Unmarshal(text, &got); err != nil || got.Description != "d" {
				t.Fatal(string(text), err)
			}
			if diff := cmp.Diff(row.left, slices.Sorted(maps.Keys(got.Resources))); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.outputs, slices.Sorted(maps.Keys(got.Outputs))); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
	if kept, err := Kept([]byte(withLinks)); err != nil || !kept["A"] || kept["B"] {
		t.Errorf("kept %v, %v", kept, err)
	}
}
