package aws_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// TestStackOfDataIsProtected deletes the stack of file systems as somebody at the console
// would, whose data `muster down` keeps.
func TestStackOfDataIsProtected(t *testing.T) {
	w := newWorld(t)
	w.heads()
	r := &told{t: t}
	if _, err := w.up(t.Context(), plainFile, zfs, r); err != nil {
		t.Fatal(err)
	}
	client := cloudformation.NewFromConfig(w.Config())
	if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: sdk.String("demo-storage")}); err == nil || !strings.Contains(err.Error(), "TerminationProtection is enabled") {
		t.Errorf("the stack is deleted: %v", err)
	}
	if _, err := w.up(t.Context(), plainFile, zfs, r); err != nil {
		t.Fatal(err)
	}
	if _, err := w.down(t.Context(), true, r); err != nil {
		t.Fatal(err)
	}
	if got := r.detail("export and delete file systems"); got != "gone" {
		t.Errorf("file systems: %s", got)
	}
}
