package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// metrics is CloudWatch. Its clients speak CBOR, which moto does not: calls go on to
// moto in JSON, of which it has a form, too. Composite alarms, which moto lacks, are
// kept here; nothing evaluates them.
type metrics struct {
	ask func(context.Context, *wire.Call) (*wire.Answer, error)

	mu        sync.Mutex // guards composite
	composite []map[string]any
}

// Answer translates a call and moto's answer.
func (m *metrics) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	if c.Protocol != wire.CBOR || m.ask == nil {
		return nil, false
	}
	request, err := decodeCBOR(c.Body)
	if err != nil {
		return c.Fault(wire.Errorf("SerializationException", "%v", err)), true
	}
	if answer := m.own(c, request); answer != nil {
		return answer, true
	}
	body, err := json.Marshal(request)
	if err != nil {
		return c.Fault(wire.Errorf("SerializationException", "%v", err)), true
	}
	answer, err := m.ask(ctx, asJSON(ctx, c, body))
	if err != nil || answer.Status == http.StatusNotImplemented {
		return answer, err == nil
	}
	var result map[string]any
	if err := json.Unmarshal(answer.Body, &result); err != nil {
		return wire.Missing("moto's answer is no JSON: %.200s", answer.Body), true
	}
	if answer.Status >= 400 {
		code, _ := result["__type"].(string)
		message, _ := result["message"].(string)
		return c.Fault(&wire.Error{Status: answer.Status, Code: code, Message: message}), true
	}
	if c.Action == "DescribeAlarms" {
		m.mu.Lock()
		result["CompositeAlarms"] = m.described(request)
		m.mu.Unlock()
	}
	out := encoded(result)
	out.Moto = true
	return out, true
}

// own answers calls about composite alarms.
func (m *metrics) own(c *wire.Call, request map[string]any) *wire.Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	named := func(name any) func(map[string]any) bool {
		return func(a map[string]any) bool { return a["AlarmName"] == name }
	}
	switch c.Action {
	case "PutCompositeAlarm":
		m.composite = slices.DeleteFunc(m.composite, named(request["AlarmName"]))
		request["AlarmArn"] = fmt.Sprintf("arn:aws:cloudwatch:%s:%s:alarm:%v", c.Region, Account, request["AlarmName"])
		request["StateValue"] = "OK"
		delete(request, "Tags")
		m.composite = append(m.composite, request)
		return encoded(map[string]any{})
	case "DeleteAlarms":
		names, _ := request["AlarmNames"].([]any)
		rest := slices.DeleteFunc(slices.Clone(names), func(name any) bool { return slices.ContainsFunc(m.composite, named(name)) })
		for _, name := range names {
			m.composite = slices.DeleteFunc(m.composite, named(name))
		}
		if request["AlarmNames"] = rest; len(rest) == 0 {
			return encoded(map[string]any{})
		}
	case "TagResource", "UntagResource":
		if slices.ContainsFunc(m.composite, func(a map[string]any) bool { return a["AlarmArn"] == request["ResourceARN"] }) {
			return encoded(map[string]any{})
		}
	}
	return nil
}

// described are the composite alarms that DescribeAlarms asks for. mu is held.
func (m *metrics) described(request map[string]any) []any {
	names, _ := request["AlarmNames"].([]any)
	prefix, _ := request["AlarmNamePrefix"].(string)
	kinds, _ := request["AlarmTypes"].([]any)
	all := []any{}
	for _, a := range m.composite {
		name, _ := a["AlarmName"].(string)
		wanted := names == nil && strings.HasPrefix(name, prefix) || slices.Contains(names, any(name))
		if wanted && slices.Contains(kinds, any("CompositeAlarm")) {
			all = append(all, a)
		}
	}
	return all
}

// asJSON is the call in JSON.
func asJSON(ctx context.Context, c *wire.Call, body []byte) *wire.Call {
	r := c.Request.Clone(ctx)
	r.URL.Path = "/"
	r.Header = http.Header{
		"Authorization": r.Header["Authorization"], "X-Amz-Target": {"GraniteServiceVersion20100801." + c.Action}, "Content-Type": {"application/x-amz-json-1.0"},
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return &wire.Call{Service: c.Service, Region: c.Region, Key: c.Key, Action: c.Action, Protocol: wire.Target, Body: body, Request: r}
}

func encoded(result map[string]any) *wire.Answer {
	return &wire.Answer{Type: "application/cbor", Body: cbor.Encode(toCBOR("", result)), Header: map[string]string{"Smithy-Protocol": "rpc-v2-cbor"}}
}

func decodeCBOR(body []byte) (map[string]any, error) {
	if len(body) == 0 {
		return map[string]any{}, nil
	}
	value, err := cbor.Decode(body)
	if err != nil {
		return nil, err
	}
	m, ok := fromCBOR(value).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the body is no map")
	}
	return m, nil
}

func fromCBOR(v cbor.Value) any {
	switch v := v.(type) {
	case cbor.Map:
		m := map[string]any{}
		for key, value := range v {
			m[key] = fromCBOR(value)
		}
		return m
	case cbor.List:
		list := []any{}
		for _, value := range v {
			list = append(list, fromCBOR(value))
		}
		return list
	case *cbor.Tag: // 1 is a time, as seconds since 1970
		return fromCBOR(v.Value)
	case cbor.String:
		return string(v)
	case cbor.Slice:
		return []byte(v)
	case cbor.Bool:
		return bool(v)
	case cbor.Uint:
		return uint64(v)
	case cbor.NegInt:
		return -int64(v)
	case cbor.Float32:
		return float64(v)
	case cbor.Float64:
		return float64(v)
	}
	return nil
}

// toCBOR is the value of a member in CBOR. JSON does not say which numbers are
// times; CloudWatch's names do.
func toCBOR(name string, v any) cbor.Value {
	switch v := v.(type) {
	case map[string]any:
		m := cbor.Map{}
		for key, value := range v {
			m[key] = toCBOR(key, value)
		}
		return m
	case []any:
		list := cbor.List{}
		for _, value := range v {
			list = append(list, toCBOR(name, value))
		}
		return list
	case string:
		return cbor.String(v)
	case bool:
		return cbor.Bool(v)
	case uint64:
		return cbor.Uint(v)
	case int64:
		return cbor.NegInt(-v)
	case float64:
		for _, end := range []string{"Timestamp", "Timestamps", "LastModified", "StartTime", "EndTime"} {
			if strings.HasSuffix(name, end) {
				return &cbor.Tag{ID: 1, Value: cbor.Float64(v)}
			}
		}
		if v >= 0 && v == float64(uint64(v)) {
			return cbor.Uint(uint64(v))
		}
		return cbor.Float64(v)
	}
	return &cbor.Nil{}
}
