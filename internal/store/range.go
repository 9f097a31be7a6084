package store

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Range implements Store.
func (s *S3) Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	if size == 0 {
		return s.nothing(ctx, key, version)
	}
	open := func(at int64) (io.ReadCloser, error) { return s.part(ctx, key, at, from+size-at, version) }
	body, err := open(from)
	if err != nil {
		return nil, s.failed("get", key, err)
	}
	return named{ended{s.unbroken(ctx, body, from, size, open)}, key}, nil
}

// nothing is no byte of an object, which no range can ask for: but the object is there, and is the one that it is to be.
func (s *S3) nothing(ctx context.Context, key, version string) (io.ReadCloser, error) {
	o, err := s.Head(ctx, key)
	if err != nil {
		return nil, err
	}
	if version != "" && o.Version != version {
		return nil, s.failed("get", key, ErrChanged)
	}
	return io.NopCloser(strings.NewReader("")), nil
}

// part asks for some bytes of an object.
func (s *S3) part(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	span := fmt.Sprintf("bytes=%d-%d", from, from+size-1)
	if s.short.open() && size <= shortBytes {
		if body := s.short.get(ctx, key, span, version); body != nil {
			return body, nil
		}
	}
	in := &s3.GetObjectInput{Bucket: &s.bucket, Key: &key, Range: &span}
	if version != "" {
		in.IfMatch = &version
	}
	out, err := s.client.GetObject(ctx, in)
	if err != nil {
		return nil, outside(err)
	}
	if got := aws.ToString(out.ContentRange); from > 0 && !strings.HasPrefix(got, fmt.Sprintf("bytes %d-", from)) {
		out.Body.Close()
		return nil, fmt.Errorf("asked for bytes from %d on, got %q", from, got)
	}
	return out.Body, nil
}

// outside turns a range behind the object's end into a body that is too short.
func outside(err error) error {
	if code(err) == "InvalidRange" {
		return io.ErrUnexpectedEOF
	}
	return reason(err)
}

// ended is a body that has to have as many bytes as were asked for, and has no more.
type ended struct{ *unbroken }

func (e ended) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.unbroken.Read(p[:min(int64(len(p)), e.left)])
	if err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// unbroken is a body that is read on where it broke off, as long as patience lasts.
type unbroken struct {
	ctx      context.Context
	body     io.ReadCloser
	at       int64
	left     int64
	open     func(at int64) (io.ReadCloser, error)
	patience *patience
	failures failures
}

func (s *S3) unbroken(ctx context.Context, body io.ReadCloser, at, size int64, open func(int64) (io.ReadCloser, error)) *unbroken {
	return &unbroken{ctx: ctx, body: body, at: at, left: size, open: open, patience: s.patience}
}

func (u *unbroken) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	u.at += int64(n)
	u.left -= int64(n)
	if n > 0 {
		u.failures = failures{}
	}
	if err == nil || u.left <= 0 {
		return n, err
	}
	if reopenErr := u.reopen(err); reopenErr != nil {
		return n, reopenErr
	}
	return n, nil
}

// reopen goes on where the body broke off. The first time it does so at once.
func (u *unbroken) reopen(why error) error {
	if u.patience.limit == 0 || u.ctx.Err() != nil {
		return why
	}
	if gaveUp := u.patience.endures(&u.failures, why); gaveUp != nil {
		return why
	}
	if err := u.pause(why); err != nil {
		return err
	}
	body, err := u.open(u.at)
	if err != nil {
		return err
	}
	u.body.Close() // it broke off: that is what it could say
	u.body = body
	return nil
}

func (u *unbroken) pause(why error) error {
	if u.failures.count == 1 {
		return nil
	}
	wait := u.patience.wait(u.failures.count - 1)
	u.patience.ring(why, wait)
	select {
	case <-u.ctx.Done():
		return context.Cause(u.ctx)
	case <-time.After(wait):
		return nil
	}
}

func (u *unbroken) Close() error { return u.body.Close() }
