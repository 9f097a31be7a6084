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
)

// Call is one request of an AWS client.
type Call struct {
	// Service is the signing name in the request's credential scope: ec2,
	// cloudformation, fsx, s3, iam, ssm, route53, servicequotas, pricing, ...
	Service, Region string
	// Key is the access key that signed it.
	Key string
	// Action is the operation's name for the query and JSON protocols, and
	// "METHOD /path" for REST.
	Action   string
	Protocol Protocol
	// Form are the parameters of the query protocol.
	Form url.Values
	Body []byte
	// Request is the request itself; its body has been read into Body, except for S3.
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
	// Parts come after Body: pieces of a large answer that need not be copied together.
	Parts [][]byte
	// Header are further fields.
	Header map[string]string
	// Moto says that moto gave the answer.
	Moto bool
}

// Missing answers a call that the double ought to know and does not. The frame
// fails the test with it.
func Missing(format string, args ...any) *Answer {
	return &Answer{Status: http.StatusNotImplemented, Type: "text/plain", Body: fmt.Appendf(nil, format, args...)}
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

// Error is an error of AWS. A comment where it is made says where its code and
// status are documented.
type Error struct {
	Status        int
	Code, Message string
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf makes an error with status 400.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Resource is something that has tags, as the Resource Groups Tagging API lists it.
type Resource struct {
	ARN  string
	Tags map[string]string
}

// Tagged is a Service whose resources that API lists.
type Tagged interface{ Tagged() []Resource }
