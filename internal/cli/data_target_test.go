package cli

import (
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for _, row := range []struct{ name, arg, bucket, prefix, text string }{
		{"bucket", "s3://data", "data", "", "s3://data"},
		{"bucket_with_a_slash", "s3://data/", "data", "", "s3://data"},
		{"prefix", "s3://data/sets/one", "data", "sets/one", "s3://data/sets/one"},
		{"prefix_with_a_slash", "s3://data/sets/one/", "data", "sets/one", "s3://data/sets/one"},
		{"signs", "s3://my.data-1/a b/%20?x#y/ü", "my.data-1", "a b/%20?x#y/ü", "s3://my.data-1/a b/%20?x#y/ü"},
		{"old_name", "s3://My_Bucket/x", "My_Bucket", "x", "s3://My_Bucket/x"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := parseTarget(row.arg)
			if err != nil || got != (target{row.bucket, row.prefix}) || got.String() != row.text {
				t.Errorf("got %+v, %q, %v", got, got, err)
			}
		})
	}
}

func TestParseTarget_refuses(t *testing.T) {
	for _, row := range []struct{ name, arg, want string }{
		{"nothing", "", "it begins with s3://"},
		{"one_slash", "s3:/data/x", "say s3://data/x"},
		{"no_slash", "s3:data", "say s3://data"},
		{"upper_case", "S3://data/x", "say s3://data/x"},
		{"hadoop", "s3a://data/x", "say s3://data/x"},
		{"no_bucket", "s3://", "it names no bucket"},
		{"no_bucket_but_a_prefix", "s3:///x", "it names no bucket"},
		{"bucket_too_short", "s3://ab/x", `"ab" is no name of a bucket`},
		{"bucket_with_a_space", "s3://my data/x", "is no name of a bucket"},
		{"bucket_with_a_port", "s3://host:9000/x", "is no name of a bucket"},
		{"arn", "arn:aws:s3:::data/x", "say s3://data/x"},
		{"arn_behind_the_scheme", "s3://arn:aws:s3:::data/x", "say s3://data/x"},
		{"access_point", "s3://arn:aws:s3:us-west-2:123456789012:accesspoint/mine", "its alias"},
		{"web", "https://data.s3.amazonaws.com/x", "--endpoint-url"},
		{"leading_slash", "s3://data//x", "a slash too many"},
		{"double_slash", "s3://data/x//y", "a slash too many"},
		{"two_at_the_end", "s3://data/x//", "a slash too many"},
		{"dot", "s3://data/./x", `S3 knows no "."`},
		{"dots", "s3://data/x/..", `S3 knows no ".."`},
		{"own_folder", "s3://data/x/.muster", "name the dataset above it"},
		{"no_utf8", "s3://data/\xff", "UTF-8"},
		{"too_long", "s3://data/" + strings.Repeat("x", 1025), "1024 bytes at the most, this has 1025"},
		{"directory", "./data", "it begins with s3://"},
		{"acts_on_a_terminal", "\x1b[2J", `\x1b[2J`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := parseTarget(row.arg)
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("got %+v, %v; want %q", got, err, row.want)
			}
		})
	}
}

func TestIsTarget(t *testing.T) {
	for arg, want := range map[string]bool{
		"s3://data/x": true, "s3:/data": true, "S3://data": true, "arn:aws:s3:::data": true, "https://data": true, "s3a://x": true,
		"./data": false, "/fsx/data": false, "data": false, "": false, "s3": false, "s3/x": false,
	} {
		if got := isTarget(arg); got != want {
			t.Errorf("%q: got %v", arg, got)
		}
	}
}
