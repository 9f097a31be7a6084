package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3response"
)

// listed is a page of a list. The library makes those that have folders.
func (d durable) listed(ctx context.Context, in *s3.ListObjectsV2Input) (s3response.ListObjectsV2Result, error) {
	bucket, most := aws.ToString(in.Bucket), aws.ToInt32(in.MaxKeys)
	p := page{ctx: ctx, folders: d.folders, root: filepath.Join(d.root, bucket), most: int(most),
		prefix: aws.ToString(in.Prefix), after: max(aws.ToString(in.ContinuationToken), aws.ToString(in.StartAfter))}
	at, _ := path.Split(p.prefix)
	if aws.ToString(in.Delimiter) != "" || most < 1 || !d.begins(bucket+"/"+at) {
		return d.Posix.ListObjectsV2(ctx, in)
	}
	p.object = d.object(bucket)
	if aws.ToBool(in.FetchOwner) {
		p.object = d.FileToObj(bucket, true)
	}
	if err := p.all(at); err != nil && !errors.Is(err, errFull) {
		return s3response.ListObjectsV2Result{}, fmt.Errorf("list %s: %w", bucket, err)
	}
	out := s3response.ListObjectsV2Result{Name: &bucket, Prefix: backend.GetPtrFromString(p.prefix), MaxKeys: &most,
		StartAfter: backend.GetPtrFromString(aws.ToString(in.StartAfter)), ContinuationToken: backend.GetPtrFromString(p.after)}
	more := len(p.found) > p.most
	if more {
		p.found = p.found[:p.most]
		out.NextContinuationToken = p.found[p.most-1].Key
	}
	out.Contents, out.IsTruncated, out.KeyCount = p.found, &more, aws.Int32(int32(len(p.found)))
	return out, nil
}

// errFull ends a page.
var errFull = errors.New("there is more")

// page is a page that is being made, with one object more, which proves that there is more.
type page struct {
	ctx     context.Context
	folders *folders
	root    string
	prefix  string
	after   string
	most    int
	object  backend.GetObjFunc
	found   []s3response.Object
}

// begins says that a list can begin in this directory.
func (d durable) begins(dir string) bool {
	info, err := os.Stat(filepath.Join(d.root, dir))
	return err == nil && info.IsDir() && fs.ValidPath(strings.TrimSuffix(dir, "/")) && !strings.Contains(dir, posix.MetaTmpDir)
}

// all adds what the prefix has, which is in this directory.
func (p *page) all(at string) error {
	if err := p.offer(at); err != nil {
		return err
	}
	return p.dir(at)
}

// dir adds what a directory has, of which all keys begin with at.
func (p *page) dir(at string) error {
	after := strings.TrimPrefix(p.after, at)
	if !strings.HasPrefix(p.after, at) {
		after = "" // the list begins before this directory
	}
	for done := ""; ; after = done {
		names, more, err := p.folders.behind(filepath.Join(p.root, at), after)
		if err != nil {
			return err
		}
		for _, name := range names {
			if name == done {
				continue
			}
			done = name
			if err := p.add(at, name); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
	}
}

// add adds what is called so in a directory.
func (p *page) add(at, name string) error {
	key := at + name
	if !strings.HasPrefix(key, p.prefix) || strings.TrimSuffix(name, "/") == posix.MetaTmpDir {
		return nil
	}
	if err := p.offer(key); err != nil || !strings.HasSuffix(key, "/") {
		return err
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	return p.dir(key)
}

// offer adds an object, if it is one: of directories few are.
func (p *page) offer(key string) error {
	if key <= p.after || !strings.HasPrefix(key, p.prefix) {
		return nil
	}
	if len(p.found) > p.most {
		return errFull
	}
	o, err := p.object(key, entry{p.root, key, strings.HasSuffix(key, "/")})
	if errors.Is(err, backend.ErrSkipObj) {
		return nil
	}
	if err == nil {
		p.found = append(p.found, o)
	}
	return err
}
