package local

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

// Associations are the links of a cluster file between directories and buckets, and the
// exports of muster.yaml, on the cluster's own S3 server. Their directories are made.
func Associations(ctx context.Context, l *nodes.Layout, c *spec.Cluster, w *spec.Workload) ([]controller.Association, error) {
	c = c.With(w)
	var all []controller.Association
	for _, rule := range rules(l, c, w) {
		a, err := association(ctx, l, c, rule)
		if err != nil {
			return nil, fmt.Errorf("link %s with s3://%s/%s: %w", rule.Mount, rule.Bucket, rule.Prefix, err)
		}
		all = append(all, a)
	}
	return all, nil
}

// rules are those of the cluster file's links, and those of muster.yaml's exports.
func rules(l *nodes.Layout, c *spec.Cluster, w *spec.Workload) []export.Rule {
	var all []export.Rule
	for _, s := range c.SharedStorage {
		for _, r := range s.Repositories {
			all = append(all, onStorage(l, c, s, linkRule(r)))
		}
	}
	for _, e := range w.Exports {
		for _, s := range c.SharedStorage {
			if below(e.Directory, s.MountDir) {
				all = append(all, onStorage(l, c, s, controller.ExportRule(e)))
				break
			}
		}
	}
	return all
}

// below says that a path is a directory or lies in it.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// onStorage is a rule with the directory of the host that stands for its mount.
func onStorage(l *nodes.Layout, c *spec.Cluster, s spec.SharedStorage, r export.Rule) export.Rule {
	r.Trusted = StorageDir(l, c, s.MountDir)
	r.Dir = filepath.Join(r.Trusted, strings.TrimPrefix(r.Mount, s.MountDir))
	return r
}

func linkRule(r spec.DataRepository) export.Rule {
	return export.Rule{
		Mount: path.Clean(r.Dir), Bucket: r.Bucket, Prefix: r.Prefix, New: slices.Contains(r.AutoExport, "NEW"),
		Changed: slices.Contains(r.AutoExport, "CHANGED"), Deleted: slices.Contains(r.AutoExport, "DELETED"),
		Import: export.Policy{
			Initial: r.ImportAtFirst, New: slices.Contains(r.AutoImport, "NEW"),
			Changed: slices.Contains(r.AutoImport, "CHANGED"), Deleted: slices.Contains(r.AutoImport, "DELETED"),
		},
	}
}

func association(ctx context.Context, l *nodes.Layout, c *spec.Cluster, r export.Rule) (controller.Association, error) {
	if err := makeLinked(r); err != nil {
		return controller.Association{}, err
	}
	bucket, err := openBucket(ctx, l, r.Bucket)
	if err != nil {
		return controller.Association{}, err
	}
	return controller.Association{
		Path: r.Mount, Store: bucket, Record: l.Path("links", url.PathEscape(r.Mount)), Place: l.Path("s3", r.Bucket), Rule: r,
	}, nil
}

// makeLinked makes a rule's directory on its storage: links that users put there lead nowhere else.
func makeLinked(r export.Rule) error {
	if err := os.MkdirAll(r.Trusted, 0o755); err != nil {
		return err
	}
	storage, err := os.OpenRoot(r.Trusted)
	if err != nil {
		return err
	}
	defer storage.Close()
	rest, err := filepath.Rel(r.Trusted, r.Dir)
	if err != nil || rest == "." {
		return err
	}
	return storage.MkdirAll(rest, 0o755)
}

// Buckets are those that muster.yaml asks for, on the cluster's own S3 server.
func Buckets(ctx context.Context, l *nodes.Layout, w *spec.Workload) (map[string]store.Store, error) {
	all := map[string]store.Store{}
	for _, name := range w.Buckets {
		bucket, err := openBucket(ctx, l, name)
		if err != nil {
			return nil, fmt.Errorf("open the bucket %s: %w", name, err)
		}
		all[name] = bucket
	}
	return all, nil
}

func openBucket(ctx context.Context, l *nodes.Layout, name string) (store.Store, error) {
	r, err := l.Record()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Config{
		Endpoint: s3Endpoint(), Region: r.Region, CredentialsFile: l.Path("etc", "s3", "credentials"), Bucket: name,
	})
}

// s3Endpoint is where a cluster's machines find its S3 server.
func s3Endpoint() string { return "http://" + s3Address() }

func s3Address() string { return netip.AddrPortFrom(nodes.HeadAddress, services.S3Port).String() }

// s3Region is the region of the cluster file, which the S3 server takes as its own when it
// is started.
func s3Region(c *spec.Cluster) string { return cmp.Or(c.Region, "us-east-1") }
