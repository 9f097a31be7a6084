package store

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/muster-hpc/muster/internal/say/page"
)

// failed says what was done to which object, or to the bucket if key is "", and puts our own sentinel in place of the
// service's words where a caller acts on it. It returns nil for nil.
func (s *S3) failed(deed, key string, err error) error {
	if err == nil {
		return nil
	}
	what := "bucket " + s.bucket
	if key != "" {
		what = "object " + page.Printable(key) + " of " + what
	}
	return fmt.Errorf("%s %s: %w", deed, what, s.reason(err))
}

// reason also says what to do where nothing ever answered, and what renews credentials.
func (s *S3) reason(err error) error {
	err = reason(err)
	if hint := s.patience.credentials.hint; hint != "" && errors.Is(err, ErrCredentials) {
		return fmt.Errorf("%w; %s", err, hint)
	}
	if s.patience.known.Load() {
		return err
	}
	return advised(err)
}

func reason(err error) error {
	var gave *gaveUp
	if errors.As(err, &gave) {
		return &gaveUp{reason(gave.cause), gave.times, gave.after}
	}
	var send *smithyhttp.RequestSendError
	if errors.As(err, &send) {
		return unansweredBy(send.Err)
	}
	if garbled, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return fmt.Errorf("read the answer: %w", cmp.Or(errors.Unwrap(garbled.Err), garbled.Err))
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		if status := status(err); status >= 300 {
			return fmt.Errorf("the answer is %d %s, not in the words of S3", status, http.StatusText(status))
		}
		var op *smithy.OperationError
		if errors.As(err, &op) {
			return op.Err
		}
		return err
	}
	says := page.Printable(api.ErrorMessage())
	switch api.ErrorCode() {
	case "NoSuchKey", "NoSuchBucket", "NotFound":
		return ErrNotFound
	case "NoSuchUpload":
		return fmt.Errorf("%w: %s", errNoUpload, says)
	case "PreconditionFailed":
		return ErrChanged
	case "InvalidObjectState":
		return ErrArchived
	}
	if damaged(api.ErrorCode()) {
		return fmt.Errorf("%w: %s", ErrChecksum, says)
	}
	words := fmt.Errorf("%s: %s", api.ErrorCode(), says)
	if staleCode(api.ErrorCode()) {
		return staleCredentials{words}
	}
	if status(err) == http.StatusForbidden && (api.ErrorCode() == "AccessDenied" || api.ErrorCode() == "Forbidden") { // the answer to HEAD has no code
		return denial{words}
	}
	if ofTheObject(status(err), api.ErrorCode()) {
		return refusal{words}
	}
	return words
}

// errNoUpload says that no such upload in parts is under way.
var errNoUpload = errors.New("there is no such upload")

// damaged reports whether a code says that other bytes came to the place than were sent.
func damaged(code string) bool {
	switch code {
	case "BadDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch":
		return true
	}
	return false
}

// refusal is an ErrRefused in the place's own words.
type refusal struct{ error }

func (refusal) Is(target error) bool { return target == ErrRefused }
func (r refusal) Unwrap() error      { return r.error }

// denial is an ErrDenied in the place's own words.
type denial struct{ error }

func (denial) Is(target error) bool { return target == ErrDenied }
func (d denial) Unwrap() error      { return d.error }

// ofThePlace are the codes of status 400 and 409 that say nothing about an object: the caller's clock, rights or region,
// a connection that broke, a bucket that is being made. S3 lists them at
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html.
var ofThePlace = []string{
	"AuthorizationHeaderMalformed", "BucketAlreadyExists", "ConditionalRequestConflict", "ExpiredToken", "IllegalLocationConstraintException", "IncompleteBody",
	"InvalidBucketName", "InvalidBucketState", "InvalidToken", "OperationAborted", "RequestTimeout", "TokenRefreshRequired", "NoSuchUpload",
}

// ofTheObject reports whether an error is about one object alone. Rights (401, 403), absence (404), haste (429) and
// errors of the server are about the place.
func ofTheObject(status int, code string) bool {
	switch status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusLengthRequired, http.StatusRequestEntityTooLarge,
		http.StatusRequestURITooLong, http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge:
		return !slices.Contains(ofThePlace, code)
	}
	return false
}
