package faults

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Deafness is how little a server knows of checksums, as some of S3's relatives do.
type Deafness int

const (
	Hears     Deafness = iota
	HearsNone          // it stores what comes, whatever checksum came with it; what it says of that is its own
	SaysNone           // also it never says one
)

func (p *Proxy) deafness() Deafness {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deaf
}

// take takes the checksums out of a request.
func (d Deafness) take(r *http.Request) error {
	if d == Hears {
		return nil
	}
	mute(r.Header)
	if r.Method != http.MethodPost || r.Body == nil {
		return nil
	}
	text, err := silent(r.Body)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// leave leaves them out of an answer.
func (d Deafness) leave(answer *http.Response) error {
	if d != SaysNone {
		return nil
	}
	mute(answer.Header)
	if answer.Request.Method != http.MethodPost {
		return nil
	}
	text, err := silent(answer.Body)
	if err != nil {
		return err
	}
	answer.Header.Set("Content-Length", strconv.Itoa(len(text)))
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

func mute(h http.Header) {
	for name := range h {
		if name != "X-Amz-Checksum-Mode" && (strings.HasPrefix(name, "X-Amz-Checksum-") || strings.HasPrefix(name, "X-Amz-Sdk-Checksum-")) {
			h.Del(name)
		}
	}
}

var sums = regexp.MustCompile(`<Checksum(CRC64NVME|Type)>[^<]*</Checksum(CRC64NVME|Type)>`)

// silent is a text of XML without checksums.
func silent(r io.ReadCloser) ([]byte, error) {
	text, err := io.ReadAll(r)
	r.Close()
	return sums.ReplaceAll(text, nil), err
}
