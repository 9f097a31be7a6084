package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// target is what s3://BUCKET/PREFIX names.
type target struct {
	bucket string
	// prefix is without slashes at its ends, and empty for the whole bucket.
	prefix string
}

// String is the target as it is written.
func (t target) String() string { return strings.TrimSuffix("s3://"+t.bucket+"/"+t.prefix, "/") }

// isTarget tells whether an argument is meant to name something in a bucket, right or
// wrong.
func isTarget(arg string) bool {
	lower := strings.ToLower(arg)
	for _, begin := range []string{"s3:", "s3a:", "s3n:", "arn:", "http:", "https:"} {
		if strings.HasPrefix(lower, begin) {
			return true
		}
	}
	return false
}

// parseTarget reads s3://BUCKET[/PREFIX]. A slash at its end means nothing.
func parseTarget(arg string) (target, error) {
	rest, ok := strings.CutPrefix(arg, "s3://")
	if !ok {
		return target{}, noTarget(arg, schemeHint(arg))
	}
	if strings.HasPrefix(rest, "arn:") {
		return target{}, noTarget(arg, arnHint(rest))
	}
	bucket, prefix, _ := strings.Cut(rest, "/")
	if why := badBucket(bucket); why != "" {
		return target{}, noTarget(arg, why)
	}
	prefix = strings.TrimSuffix(prefix, "/")
	if why := badPrefix(prefix); why != "" {
		return target{}, noTarget(arg, why)
	}
	return target{bucket, prefix}, nil
}

func noTarget(arg, why string) error {
	return fault.Usage(fmt.Errorf("%q is no s3://BUCKET/PREFIX: %s", page.Printable(arg), why))
}

// schemeHint says how something is written that is not s3://.
func schemeHint(arg string) string {
	scheme, rest, _ := strings.Cut(arg, ":")
	rest = page.Printable(strings.TrimLeft(rest, "/"))
	switch lower := strings.ToLower(scheme); lower {
	case "s3", "s3a", "s3n":
		if rest == "" {
			return "it names no bucket"
		}
		return "say s3://" + rest
	case "arn":
		return arnHint(arg)
	case "http", "https":
		return "it begins with s3:// and the bucket's name; --endpoint-url says where other places than AWS are"
	}
	return "it begins with s3://"
}

var bucketARN = pattern.New(`^arn:[a-z-]+:s3:::(.+)$`)

// arnHint says how what an ARN names is written.
func arnHint(arn string) string {
	if m := bucketARN().FindStringSubmatch(arn); m != nil {
		return "say s3://" + page.Printable(m[1])
	}
	return "it is an ARN; say the bucket's name, or for an access point its alias, which stands for a bucket's name"
}

// bucketName is what buckets may be called, old ones and those of other places too.
var bucketName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$`)

func badBucket(name string) string {
	switch {
	case name == "":
		return "it names no bucket"
	case !bucketName().MatchString(name):
		return fmt.Sprintf("%q is no name of a bucket: those are 3 to 63 letters, digits, dots and hyphens", page.Printable(name))
	}
	return ""
}

// badPrefix says why a prefix can be none of a dataset, whose keys are paths of files.
func badPrefix(prefix string) string {
	switch {
	case prefix == "":
		return ""
	case !utf8.ValidString(prefix):
		return "S3's keys are UTF-8"
	case len(prefix) > manifest.MostPath:
		return fmt.Sprintf("S3's keys have %d bytes at the most, this has %d", manifest.MostPath, len(prefix))
	}
	for part := range strings.SplitSeq(prefix, "/") {
		switch part {
		case "":
			return "it has a slash too many, and S3 takes each as a part of the key"
		case ".", "..":
			return fmt.Sprintf("S3 knows no %q: it would be a part of the key", part)
		case manifest.Dir:
			return manifest.Dir + " is muster's own folder in a dataset; name the dataset above it"
		}
	}
	return ""
}
