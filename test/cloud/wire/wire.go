// Package wire is how the services of the AWS double are called: a request of an
// AWS client, taken apart, and answers in the protocols of AWS.
package wire

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Call is one request of an AWS client.
type Call struct {
	// Service is the signing name in the request's credential scope: ec2,
	// cloudformation, fsx, s3, iam, ssm, route53, servicequotas, pricing, ...
	Service, Region string
	// Action is the operation's name for the query and JSON protocols, and
	// "METHOD /path" for REST.
	Action string
	// Form are the parameters of the query protocol.
	Form url.Values
	Body []byte
	// Request is the request itself; its body has been read into Body.
	Request *http.Request
}

// Decode reads a JSON body.
func (c *Call) Decode(into any) error { return json.Unmarshal(c.Body, into) }

// Service answers the calls of one AWS service.
type Service interface {
	// Answer answers a call. It is false for a call that is left to moto.
	Answer(ctx context.Context, c *Call) (*Answer, bool)
}

// Answer is what goes back to the client.
type Answer struct {
	Status int // 0 is 200
	Type   string
	Body   []byte
}

// XML answers with the value's XML. For the query protocol of EC2 the value's
// element is <Action>Response.
func XML(v any) *Answer {
	body, err := xml.Marshal(v)
	if err != nil {
		panic(err) // a value of our own types
	}
	return &Answer{Type: "text/xml;charset=UTF-8", Body: append([]byte(xml.Header), body...)}
}

// JSON answers in the JSON protocols.
func JSON(v any) *Answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of our own types
	}
	return &Answer{Type: "application/x-amz-json-1.1", Body: body}
}

// Error is an error of AWS. Source says where its code and status are documented.
type Error struct {
	Status        int
	Code, Message string
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf makes an error with status 400.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Fault answers with an error in the protocol of the call.
func (c *Call) Fault(e *Error) *Answer {
	var text strings.Builder
	_ = xml.EscapeText(&text, []byte(e.Message)) // never fails on a builder
	switch {
	case c.Service == "ec2":
		return &Answer{Status: e.Status, Type: "text/xml;charset=UTF-8", Body: fmt.Appendf([]byte(xml.Header),
			"<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>", e.Code, text.String(), requestID)}
	case c.Form != nil:
		return &Answer{Status: e.Status, Type: "text/xml;charset=UTF-8", Body: fmt.Appendf([]byte(xml.Header),
			"<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>", e.Code, text.String(), requestID)}
	}
	a := JSON(map[string]string{"__type": e.Code, "message": e.Message})
	a.Status = e.Status
	return a
}

const requestID = "00000000-0000-4000-8000-000000000000"
