package main

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"
)

// exact adds one thing to the backend, whose lists are XML, which cannot carry every key: keys are percent-encoded
// where a client asks for encoding-type=url, and what continues a list is opaque.
type exact struct{ durable }

var _ backend.Backend = exact{}

// ListObjectsV2 implements backend.Backend.
func (e exact) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input) (s3response.ListObjectsV2Result, error) {
	if token := aws.ToString(in.ContinuationToken); token != "" {
		marker, err := base64.URLEncoding.DecodeString(token)
		if err != nil {
			return s3response.ListObjectsV2Result{}, err
		}
		in.ContinuationToken = aws.String(string(marker))
	}
	out, err := e.listed(ctx, in)
	if err != nil {
		return out, err
	}
	for _, token := range []**string{&out.NextContinuationToken, &out.ContinuationToken} {
		if aws.ToString(*token) != "" {
			*token = aws.String(base64.URLEncoding.EncodeToString([]byte(**token)))
		}
	}
	if asksForURLs(ctx) {
		out.EncodingType = types.EncodingTypeUrl
		encode(out.Contents, out.CommonPrefixes, &out.Prefix, &out.Delimiter, &out.StartAfter)
	}
	if request, ok := ctx.(*fasthttp.RequestCtx); ok {
		leave(request, &out)
	}
	return out, nil
}

// ListObjects implements backend.Backend.
func (e exact) ListObjects(ctx context.Context, in *s3.ListObjectsInput) (s3response.ListObjectsResult, error) {
	out, err := e.durable.ListObjects(ctx, in)
	if err == nil && asksForURLs(ctx) {
		out.EncodingType = types.EncodingTypeUrl
		encode(out.Contents, out.CommonPrefixes, &out.Prefix, &out.Delimiter, &out.Marker, &out.NextMarker)
	}
	return out, err
}

// asksForURLs looks into the request: the library hands its query on, but not this part of it.
func asksForURLs(ctx context.Context) bool {
	request, ok := ctx.(*fasthttp.RequestCtx)
	return ok && string(request.QueryArgs().Peek("encoding-type")) == string(types.EncodingTypeUrl)
}

func encode(objects []s3response.Object, prefixes []types.CommonPrefix, others ...**string) {
	for i := range objects {
		others = append(others, &objects[i].Key)
	}
	for i := range prefixes {
		others = append(others, &prefixes[i].Prefix)
	}
	for _, text := range others {
		if *text != nil && !stays(**text) {
			*text = aws.String(encodedKey(**text))
		}
	}
}

func encodedKey(key string) string { return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/") }

// stays says that an encoded key is the same.
func stays(key string) bool {
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '~', c == '/':
		default:
			return false
		}
	}
	return true
}
