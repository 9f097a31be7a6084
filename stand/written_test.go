package main

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/s3response"
)

// anyText is a text of which most characters have to be escaped, or cannot be in XML.
func anyText(r *rand.Rand) string {
	some := []string{"a", "Z", "/", "%2F", `"`, "'", "&", "<", ">", "</IsTruncated>", "<Contents>", "\t", "\n", "\r", "\x00", "\x01", "\x7f", "\xff", "\xed\xa0\x80",
		"ä", "\u2028", "\ufffd", "\ufffe", "\U0001f600", " ", "+", "~"}
	text := ""
	for range r.IntN(6) {
		text += some[r.IntN(len(some))]
	}
	return text
}

func anyPage(r *rand.Rand) s3response.ListObjectsV2Result {
	p := s3response.ListObjectsV2Result{Name: aws.String(anyText(r)), Prefix: aws.String(anyText(r)), KeyCount: aws.Int32(r.Int32()), MaxKeys: aws.Int32(r.Int32()),
		IsTruncated: aws.Bool(r.IntN(2) == 0), NextContinuationToken: aws.String(anyText(r)), Delimiter: aws.String(anyText(r))}
	for range r.IntN(4) {
		o := s3response.Object{Key: aws.String(anyText(r)), ETag: aws.String(anyText(r)), Size: aws.Int64(r.Int64() - r.Int64()),
			LastModified: aws.Time(time.Unix(r.Int64N(1<<38)-1<<37, r.Int64N(1e9))), StorageClass: types.ObjectStorageClass(anyText(r)), ChecksumType: types.ChecksumType(anyText(r))}
		for range r.IntN(3) {
			o.ChecksumAlgorithm = append(o.ChecksumAlgorithm, types.ChecksumAlgorithm(anyText(r)))
		}
		if r.IntN(8) == 0 {
			o.Owner = &types.Owner{ID: aws.String(anyText(r))}
		}
		if r.IntN(16) == 0 {
			o.ETag = nil
		}
		p.Contents = append(p.Contents, o)
	}
	for range r.IntN(3) {
		p.CommonPrefixes = append(p.CommonPrefixes, types.CommonPrefix{Prefix: aws.String(anyText(r))})
	}
	if r.IntN(2) == 0 {
		p.EncodingType = types.EncodingTypeUrl
	}
	return p
}

// TestWritten has random pages that are written by hand beside encoding/xml's.
func TestWritten(t *testing.T) {
	byHand := 0
	for seed := range uint64(3000) {
		page := anyPage(rand.New(rand.NewPCG(seed, 5)))
		want, err := xml.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		var w written
		var request fasthttp.RequestCtx
		request.SetUserValue(writtenKey{}, &w)
		leave(&request, &page)
		text, err := xml.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		request.Response.SetBodyRaw(text)
		if w.objects != nil {
			byHand++
			w.into(&request.Response)
		}
		if got := string(request.Response.Body()); got != string(want) {
			t.Fatalf("seed %d:\n%s, want\n%s", seed, got, want)
		}
	}
	if byHand < 1000 {
		t.Errorf("only %d were written by hand", byHand)
	}
}

// TestStays holds that keys which are not encoded are those that encoding leaves as they are.
func TestStays(t *testing.T) {
	for c := range 256 {
		key := fmt.Sprintf("a%c/b", c)
		if c > 127 {
			key = "a" + string([]byte{byte(c)}) + "/b"
		}
		if got := encodedKey(key); stays(key) != (got == key) {
			t.Errorf("%q is encoded as %q", key, got)
		}
	}
}
