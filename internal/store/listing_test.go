package store_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

// lister is a server of one list, of a page each.
type lister struct{ pages []string }

func (l *lister) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := 0
	fmt.Sscan(r.URL.Query().Get("continuation-token"), &n)
	io.WriteString(w, l.pages[n])
}

func listed(t *testing.T, pages ...string) ([]store.Object, error) {
	t.Helper()
	server := httptest.NewServer(&lister{pages})
	defer server.Close()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("[default]\naws_access_key_id = A\naws_secret_access_key = B\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{Endpoint: server.URL, Region: "us-east-1", Bucket: "b", CredentialsFile: keys, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	var all []store.Object
	for o, err := range s.List(t.Context(), "") {
		if err != nil {
			return all, err
		}
		all = append(all, o)
	}
	return all, nil
}

const entry = "<Contents><Key>%s</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified><ETag>&quot;%d&quot;</ETag><Size>%d</Size>" +
	"<Owner><ID>x</ID></Owner><StorageClass>STANDARD</StorageClass><RestoreStatus/></Contents>\n"

// TestListIsReadAsXML has lists in plain XML and in XML that only the SDK reads: both have the same objects.
func TestListIsReadAsXML(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	for range 50 {
		var keys []string
		text := [2]string{}
		for i := range r.IntN(20) {
			key := fmt.Sprintf("%d %c&<é\x01%c", i, 'a'+rune(r.IntN(26)), rune(1+r.IntN(300)))
			keys = append(keys, key)
			var escaped strings.Builder
			_ = xml.EscapeText(&escaped, []byte(url.QueryEscape(key)))
			text[i%2] += fmt.Sprintf(entry, &escaped, i, i*i)
		}
		for _, odd := range []string{"", "<!-- seen by the SDK alone -->"} {
			head := `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix></Prefix><EncodingType>url</EncodingType>` + odd
			got, err := listed(t, head+"<IsTruncated>true</IsTruncated><NextContinuationToken>1</NextContinuationToken>"+text[0]+"</ListBucketResult>",
				head+"<IsTruncated>false</IsTruncated>"+text[1]+"</ListBucketResult>")
			if err != nil || len(got) != len(keys) {
				t.Fatalf("%q: %d objects of %d, %v", odd, len(got), len(keys), err)
			}
			for _, o := range got {
				var i int
				fmt.Sscan(o.Key, &i)
				if o.Key != keys[i] || o.SizeBytes != int64(i*i) || o.Version != fmt.Sprintf("%q", fmt.Sprint(i)) || o.Modified.UnixMilli() != time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC).UnixMilli() {
					t.Errorf("%q: got %+v, whose key is %q", odd, o, keys[i])
				}
			}
		}
	}
}

// TestListThatIsCutOff: half a list is none.
func TestListThatIsCutOff(t *testing.T) {
	whole := `<ListBucketResult><IsTruncated>false</IsTruncated>` + fmt.Sprintf(entry, "a", 1, 1) + fmt.Sprintf(entry, "b", 2, 2) + "</ListBucketResult>"
	for n := range len(whole) {
		if got, err := listed(t, whole[:n]); err == nil {
			t.Fatalf("%d bytes of %d are a list of %d", n, len(whole), len(got))
		}
	}
}

// TestListThatDoesNotSayItsEnd: a page that says that there are more, and not where, is not the last one; nor is one that does not say.
func TestListThatDoesNotSayItsEnd(t *testing.T) {
	for _, head := range []string{
		"<IsTruncated>true</IsTruncated>",
		"<IsTruncated>true</IsTruncated><NextContinuationToken></NextContinuationToken>",
		"<IsTruncated>tRue</IsTruncated><NextContinuationToken>1</NextContinuationToken>",
		"<IsTruncated>falsd</IsTruncated>",
		"<IsTruncated></IsTruncated>",
		"<NextContinuationToken>1</NextContinuationToken>",
	} {
		for _, odd := range []string{"", "<!-- seen by the SDK alone -->"} {
			if got, err := listed(t, "<ListBucketResult>"+odd+head+fmt.Sprintf(entry, "a", 1, 1)+"</ListBucketResult>"); err == nil {
				t.Errorf("%s%s: a list of %d", odd, head, len(got))
			}
		}
	}
}
