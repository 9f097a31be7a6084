package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
)

// notHere is the code of the error that a service which is not here answers with. It is no code that clients try again for.
const notHere = "NotInARehearsal"

// answerElsewhere answers for all services of AWS but S3, in the form in which each has its errors.
func answerElsewhere(w http.ResponseWriter, r *http.Request) {
	service := serviceOf(r)
	if service == "sts" && r.ParseForm() == nil && r.Form.Get("Action") == "GetCallerIdentity" {
		answerIdentity(w, r)
		return
	}
	fault := fault{Code: notHere, Message: notHereText(service)}
	switch {
	case r.Header.Get("Smithy-Protocol") == "rpc-v2-cbor":
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		reply(w, "application/cbor", fault.cbor())
	case service == "ec2":
		reply(w, "text/xml", fault.ofEC2())
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"), speaksXML(service):
		reply(w, "text/xml", fault.xml())
	default:
		w.Header().Set("X-Amzn-Errortype", fault.Code)
		reply(w, "application/x-amz-json-1.1", fault.json())
	}
}

// serviceOf is the service that a request is for: the one that it was signed for, or else what its host is called.
func serviceOf(r *http.Request) string {
	if _, credential, ok := strings.Cut(r.Header.Get("Authorization"), "Credential="); ok {
		scope, _, _ := strings.Cut(credential, ",")
		if parts := strings.Split(scope, "/"); len(parts) == 5 {
			return parts[3]
		}
	}
	name, _, _ := strings.Cut(r.Host, ".")
	return strings.ToLower(name)
}

// speaksXML tells whether a service that is not asked by forms answers in XML all the same.
func speaksXML(service string) bool {
	return service == "route53" || service == "cloudfront" || service == "s3-control"
}

func notHereText(service string) string {
	text := fmt.Sprintf("%s is not in a rehearsal: a cluster on one machine has S3 and no other service of AWS", service)
	if service == "ecr" {
		text += "; its images are in a registry of its own, whose account srun and muster have"
	}
	return text
}

// requestID is that of all answers: nobody will ask about them.
const requestID = "00000000-0000-0000-0000-000000000000"

func reply(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Amzn-Requestid", requestID)
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body)
}

// fault is an error in AWS's forms.
type fault struct {
	Type    string `xml:"Type,omitempty" json:"-"`
	Code    string `xml:"Code" json:"__type"`
	Message string `xml:"Message" json:"message"`
}

func (f fault) json() []byte {
	text, err := json.Marshal(f)
	return must(text, err)
}

func (f fault) xml() []byte {
	f.Type = "Sender"
	text, err := xml.Marshal(struct {
		XMLName   xml.Name `xml:"ErrorResponse"`
		Error     fault
		RequestID string `xml:"RequestId"`
	}{Error: f, RequestID: requestID})
	return must(text, err)
}

func (f fault) ofEC2() []byte {
	text, err := xml.Marshal(struct {
		XMLName   xml.Name `xml:"Response"`
		Errors    []fault  `xml:"Errors>Error"`
		RequestID string
	}{Errors: []fault{f}, RequestID: requestID})
	return must(text, err)
}

// cbor is a map of two texts, RFC 8949.
func (f fault) cbor() []byte {
	out := []byte{0xa2}
	for _, s := range []string{"__type", f.Code, "message", f.Message} {
		out = append(out, 0x79, byte(len(s)>>8), byte(len(s)))
		out = append(out, s...)
	}
	return out
}

// must is what was marshalled: strings always can be.
func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// rehearsalAccount is the account of a cluster without one.
const rehearsalAccount = "000000000000"

// answerIdentity says who somebody is: of a rehearsal.
func answerIdentity(w http.ResponseWriter, _ *http.Request) {
	text, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ GetCallerIdentityResponse"`
		ARN     string   `xml:"GetCallerIdentityResult>Arn"`
		User    string   `xml:"GetCallerIdentityResult>UserId"`
		Account string   `xml:"GetCallerIdentityResult>Account"`
		Request string   `xml:"ResponseMetadata>RequestId"`
	}{ARN: "arn:aws:iam::" + rehearsalAccount + ":user/rehearsal", User: "REHEARSAL", Account: rehearsalAccount, Request: requestID})
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("X-Amzn-Requestid", requestID)
	_, _ = w.Write(must(text, err))
}
