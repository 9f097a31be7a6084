package wire

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
)

const (
	requestID = "00000000-0000-4000-8000-000000000000"
	textXML   = "text/xml;charset=UTF-8"
)

// Fault answers with an error in the protocol of the call.
func (c *Call) Fault(e *Error) *Answer {
	status := e.Status
	if status == 0 {
		status = http.StatusBadRequest
	}
	switch {
	case c.Protocol == EC2:
		return asXML(status, "<Response><Errors><Error>%s</Error></Errors><RequestID>%s</RequestID></Response>", e)
	case c.Protocol == RestXML && c.Service == "s3":
		return asXML(status, "<Error>%s<RequestId>%s</RequestId></Error>", e)
	case c.Form != nil || c.Protocol == RestXML:
		return asXML(status, "<ErrorResponse><Error><Type>Sender</Type>%s</Error><RequestId>%s</RequestId></ErrorResponse>", e)
	case c.Protocol == CBOR:
		body := append([]byte{0xa2}, cborText("__type")...) // a map of two
		body = append(append(body, cborText(e.Code)...), cborText("message")...)
		return &Answer{Status: status, Type: "application/cbor", Body: append(body, cborText(e.Message)...), Header: map[string]string{"Smithy-Protocol": "rpc-v2-cbor"}}
	}
	a := JSON(map[string]string{"__type": e.Code, "message": e.Message})
	a.Status, a.Header = status, map[string]string{"X-Amzn-Errortype": e.Code}
	return a
}

func asXML(status int, frame string, e *Error) *Answer {
	var text strings.Builder
	_ = xml.EscapeText(&text, []byte(e.Message)) // never fails on a builder
	inner := "<Code>" + e.Code + "</Code><Message>" + text.String() + "</Message>"
	return &Answer{Status: status, Type: textXML, Body: fmt.Appendf([]byte(xml.Header), frame, inner, requestID)}
}

// cborText is a text of CBOR (RFC 8949, major type 3).
func cborText(s string) []byte {
	n := len(s)
	switch {
	case n < 24:
		return append([]byte{0x60 | byte(n)}, s...)
	case n < 256:
		return append([]byte{0x78, byte(n)}, s...)
	}
	s = s[:min(n, 65535)]
	return append([]byte{0x79, byte(len(s) >> 8), byte(len(s))}, s...)
}
