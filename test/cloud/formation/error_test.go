package formation_test

import (
	"errors"
	"testing"

	"github.com/aws/smithy-go"
)

func wantError(t *testing.T, err error, code, message string) {
	t.Helper()
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		t.Errorf("got the error %v, want %s: %s", err, code, message)
		return
	}
	if e.ErrorCode() != code || e.ErrorMessage() != message {
		t.Errorf("got  %s: %s\nwant %s: %s", e.ErrorCode(), e.ErrorMessage(), code, message)
	}
}
