package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryCallHasARow holds that somebody has looked at what proves each call of
// AWS.
func TestEveryCallHasARow(t *testing.T) {
	calls, err := awsCalls(root)
	if err != nil {
		t.Fatal(err)
	}
	proofs := map[call][]string{}
	if err := readRecord(recordName(root), proofs); err != nil {
		t.Fatal(err)
	}
	for c, from := range calls {
		if len(proofs[c]) == 0 {
			t.Errorf("%s %s of %v has no row in docs/ref/proof.tsv: run its tests with MUSTER_PROOF=DIR, then go run ./docs/ref/gen DIR", c.service, c.operation, from)
		}
	}
	for c := range proofs {
		if len(calls[c]) == 0 {
			t.Errorf("docs/ref/proof.tsv has %s %s, which nobody calls: go run ./docs/ref/gen DIR, with an empty DIR", c.service, c.operation)
		}
	}
	if len(calls) < 50 {
		t.Errorf("only %d calls were found", len(calls))
	}
}

func TestInputs(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import (
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)
func f() {
	_ = ec2.DescribeVpcsInput{Filters: []types.Filter{}}
	_ = &logs.CreateLogStreamInput{}
	_ = own.OtherInput{}
}`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]call{{"ec2", "DescribeVpcs"}, {"logs", "CreateLogStream"}}, inputs(file), cmp.AllowUnexported(call{})); diff != "" {
		t.Error(diff)
	}
}
