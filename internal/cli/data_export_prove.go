package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/lustre"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
)

// opener opens the bucket of a comparison whose progress is shown until it is closed.
type opener func(ctx context.Context, files int64) (with *data.Compare, closed func(), err error)

// fsxBucket opens the bucket of a link with the rights of the head node.
func (a *app) fsxBucket(r spec.DataRepository) opener {
	return func(ctx context.Context, files int64) (*data.Compare, func(), error) {
		bucket, p, stop, err := a.beginData(ctx, bucketFlags{}, target{bucket: r.Bucket, prefix: strings.Trim(r.Prefix, "/")}, transferFlags{})
		p.Begin("compare")
		p.Expect(files, 0)
		return &data.Compare{Dir: r.Dir, Bucket: bucket, Prefix: r.Prefix, Progress: p}, stop, err
	}
}

// prove compares what FSx has exported of a path with the bucket. What it cannot look at is blind; its error is that ctx ended.
func (f *fsxAnswer) prove(ctx context.Context, client lustre.Client, at string, open opener) error {
	if f.Failed > 0 {
		f.Blind = notCompared + ": not all is exported"
		return nil
	}
	with, closed, err := open(ctx, f.Files)
	defer closed()
	if err == nil {
		var proof lustre.Proof
		proof, err = client.Prove(ctx, at, with)
		f.Proof = &proof
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f.Blind = blindness(err)
	return nil
}

// blindness says why a bucket was not compared, or not to its end; "" if it was.
func blindness(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(*api.CredentialsError)):
		return notCompared + ": there are no credentials; where only root has those of the head node (Imds/Secured), `sudo` finds them"
	}
	return notCompared + ", or not to its end: " + err.Error()
}

// lacks says what the bucket does not have, "" if nothing is known to be missing.
func (f fsxAnswer) lacks() string {
	switch {
	case f.Failed > 0:
		return f.First
	case f.Proof == nil || f.Proof.Bad() == 0:
		return ""
	}
	first := f.Proof.Problems[0]
	text := first.Path + ": " + first.Why
	if more := f.Proof.Bad() - 1; more > 0 {
		text += fmt.Sprintf("; so with %d more", more)
	}
	return page.Printable(text)
}

// proven says that every file was compared, byte for byte.
func (f fsxAnswer) proven() bool {
	return f.Blind == "" && f.Proof != nil && f.Proof.Whole()
}

// proofText says what came of a comparison.
func proofText(p lustre.Proof) string {
	text := fmt.Sprintf("%s, %s: the same in both", count.Of(p.Files, "file"), count.Bytes(p.Bytes))
	for _, x := range []struct {
		n    int64
		what string
	}{
		{p.Unproven, "of them without a checksum in the bucket: only the size is known"},
		{p.Released, "of them with their data in the bucket alone (released): only the size is known"},
		{p.Changed, "changed or new meanwhile"},
		{p.NotOrdinary, "not compared: links, and what else is no ordinary file"},
		{p.Missing, "not in the bucket"},
		{p.Different, "not as in the bucket"},
	} {
		if x.n > 0 {
			text += fmt.Sprintf("; %d %s", x.n, x.what)
		}
	}
	return text
}
