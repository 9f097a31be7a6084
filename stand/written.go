package main

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/s3response"
)

// written are a page's objects that the backend leaves out of its answer, and that are written by hand: encoding/xml took
// half of a list's time.
type written struct{ objects []s3response.Object }

type writtenKey struct{}

// byHand is a middleware of the server for lists of which all is written.
func byHand(ctx fiber.Ctx) error {
	if ctx.Method() != http.MethodGet {
		return ctx.Next()
	}
	var w written
	ctx.RequestCtx().SetUserValue(writtenKey{}, &w)
	err := ctx.Next()
	if answer := ctx.Response(); err == nil && w.objects != nil && answer.StatusCode() == http.StatusOK {
		w.into(answer)
	}
	return err
}

// leave takes the objects out of a page if they can be written by hand.
func leave(request *fasthttp.RequestCtx, page *s3response.ListObjectsV2Result) {
	w, ok := request.UserValue(writtenKey{}).(*written)
	if ok && page.IsTruncated != nil && len(page.Contents) > 0 && !slices.ContainsFunc(page.Contents, odd) {
		w.objects, page.Contents = page.Contents, nil
	}
}

// odd says that an object has something that few have, which is left to the library.
func odd(o s3response.Object) bool {
	return o.Owner != nil || o.RestoreStatus != nil || o.LastModified == nil || o.ETag == nil || o.Key == nil || o.Size == nil
}

// into writes the objects where the library would have.
func (w written) into(answer *fasthttp.Response) {
	text := answer.Body()
	at := bytes.Index(text, []byte("</IsTruncated>")) + len("</IsTruncated>")
	all := make([]byte, 0, len(text)+len(w.objects)*512)
	all = append(all, text[:at]...)
	for _, o := range w.objects {
		all = appendObject(all, o)
	}
	answer.SetBodyRaw(append(all, text[at:]...))
	answer.Header.SetContentLength(len(answer.Body()))
}

// appendObject writes an object as encoding/xml does.
func appendObject(b []byte, o s3response.Object) []byte {
	b = append(b, "<Contents><LastModified>"...)
	b = o.LastModified.UTC().AppendFormat(b, time.RFC3339)
	b = append(b, "</LastModified>"...)
	for _, a := range o.ChecksumAlgorithm {
		b = appendElement(b, "ChecksumAlgorithm", string(a))
	}
	b = appendElement(b, "ChecksumType", string(o.ChecksumType))
	b = appendElement(b, "ETag", *o.ETag)
	b = appendElement(b, "Key", *o.Key)
	b = append(b, "<Size>"...)
	b = strconv.AppendInt(b, *o.Size, 10)
	b = append(b, "</Size>"...)
	b = appendElement(b, "StorageClass", string(o.StorageClass))
	return append(b, "</Contents>"...)
}

func appendElement(b []byte, name, text string) []byte {
	b = append(append(append(b, '<'), name...), '>')
	b = appendText(b, text)
	return append(append(append(b, "</"...), name...), '>')
}

// appendText writes a text as encoding/xml does, which is asked where it is not plain.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"': // of which each ETag has two
		case c < ' ' || c > '~' || c == '&' || c == '\'' || c == '<' || c == '>':
			var escaped bytes.Buffer
			_ = xml.EscapeText(&escaped, []byte(text)) // a buffer takes all
			return append(b, escaped.Bytes()...)
		}
	}
	for i := range len(text) {
		if text[i] == '"' {
			b = append(b, "&#34;"...)
			continue
		}
		b = append(b, text[i])
	}
	return b
}
