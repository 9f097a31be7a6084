package store

import (
	"errors"
	"fmt"

	"github.com/aws/smithy-go"
)

// failed says what was done to which object, or to the bucket if key is "", and puts our own sentinel in place of the
// service's words where a caller acts on it. It returns nil for nil.
func (s *S3) failed(deed, key string, err error) error {
	if err == nil {
		return nil
	}
	what := "bucket " + s.bucket
	if key != "" {
		what = "object " + key + " of " + what
	}
	return fmt.Errorf("%s %s: %w", deed, what, reason(err))
}

func reason(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		var op *smithy.OperationError
		if errors.As(err, &op) {
			return op.Err
		}
		return err
	}
	switch api.ErrorCode() {
	case "NoSuchKey", "NoSuchBucket", "NotFound":
		return ErrNotFound
	case "BadDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch":
		return fmt.Errorf("%w: %s", ErrChecksum, api.ErrorMessage())
	}
	return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
}
