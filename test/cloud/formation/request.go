package formation

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"maps"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// request reads the parameters of the query protocol.
type request struct{ *wire.Call }

func (r request) text(name string) string { return r.Form.Get(name) }

func (r request) has(name string) bool { return r.Form.Has(name) }

func (r request) yes(name string) bool { return r.text(name) == "true" }

// list are the values of NAME.member.1, NAME.member.2, ...
func (r request) list(name string) []string {
	var out []string
	for i := 1; r.has(fmt.Sprintf("%s.member.%d", name, i)); i++ {
		out = append(out, r.text(fmt.Sprintf("%s.member.%d", name, i)))
	}
	return out
}

// structs are the members of a list of structures, each with its fields.
func (r request) structs(name string) []map[string]string {
	var out []map[string]string
	for i := 1; ; i++ {
		one := map[string]string{}
		prefix := fmt.Sprintf("%s.member.%d.", name, i)
		for key := range r.Form {
			if field, ok := strings.CutPrefix(key, prefix); ok {
				one[field] = r.text(key)
			}
		}
		if len(one) == 0 {
			return out
		}
		out = append(out, one)
	}
}

// fault is the error as the client sees it.
func fault(err error) *wire.Error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	return &wire.Error{Status: http.StatusInternalServerError, Code: "InternalFailure", Message: err.Error()}
}

// page cuts a list for an answer. The token is where the next page begins.
func page[T any](r request, all []T, size int) (some []T, next string, err error) {
	from := 0
	if token := r.text("NextToken"); token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 || from > len(all) {
			return nil, "", invalid("Token is invalid")
		}
	}
	to := min(from+size, len(all))
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return all[from:to], next, nil
}

// fields is an XML element's content by name. Empty text and nil are left out.
type fields map[string]any

// tree is an element whose content is fields, lists of them, or a scalar.
type tree struct {
	name string
	v    any
}

// MarshalXML writes lists as AWS's query protocol does: <Name><member>...</member></Name>.
func (t tree) MarshalXML(e *xml.Encoder, _ xml.StartElement) error {
	start := xml.StartElement{Name: xml.Name{Local: t.name}}
	write := func(children []tree) error {
		if err := e.EncodeToken(start); err != nil {
			return err
		}
		for _, c := range children {
			if err := e.Encode(c); err != nil {
				return err
			}
		}
		return e.EncodeToken(start.End())
	}
	switch v := t.v.(type) {
	case nil:
		return nil
	case fields:
		var children []tree
		for _, name := range slices.Sorted(maps.Keys(v)) {
			children = append(children, tree{name, v[name]})
		}
		return write(children)
	case []fields:
		var children []tree
		for _, f := range v {
			children = append(children, tree{"member", f})
		}
		return write(children)
	case []string:
		var children []tree
		for _, f := range v {
			children = append(children, tree{"member", f})
		}
		return write(children)
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return e.EncodeElement(v.UTC().Format("2006-01-02T15:04:05.000Z"), start)
	case string:
		if v == "" {
			return nil
		}
	}
	return e.EncodeElement(t.v, start)
}
