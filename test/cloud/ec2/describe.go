package ec2

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// describe is DescribeInstances.
func (e *EC2) describe(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	found, err := e.find(p, "InstanceId")
	if err != nil {
		return nil, err
	}
	page, next, err := paged(p, found, 5, 1000)
	if err != nil {
		return nil, err
	}
	answer := &wire.Answer{Type: xmlType, Body: begin(c.Action)}
	add := func(b []byte) { answer.Parts = append(answer.Parts, b) }
	add([]byte("<reservationSet>"))
	for n, s := range page {
		var w writer
		i := s.instance
		if n == 0 || page[n-1].instance.ReservationID != i.ReservationID {
			w.open("item").text("reservationId", i.ReservationID).text("ownerId", e.opts.Account).open("groupSet").close("groupSet").open("instancesSet")
		}
		i.writeHead(&w, s.now)
		add(w.Bytes())
		if s.now.state != terminated {
			add(i.cards)
		}
		if n+1 < len(page) && page[n+1].instance.ReservationID == i.ReservationID {
			add([]byte("</item>"))
		} else {
			add([]byte("</item></instancesSet></item>"))
		}
	}
	var w writer
	w.close("reservationSet").text("nextToken", next)
	add(w.Bytes())
	add(end(c.Action))
	return answer, nil
}

// sight is an instance as it is seen.
type sight struct {
	instance *instance
	now      moment
}

// find are the instances that a call names by ids, or by filters, or all. mu is held.
func (e *EC2) find(p params, ids string) ([]sight, *wire.Error) {
	var found []sight
	seen := e.seen()
	if names := p.texts(ids); names != nil {
		if p.text("MaxResults") != "" {
			return nil, wire.Errorf("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
		}
		var absent []string
		for _, id := range names {
			i := e.instances[id]
			if i == nil {
				absent = append(absent, id)
				continue
			}
			m, ok := i.at(seen)
			if !ok {
				absent = append(absent, id)
				continue
			}
			found = append(found, sight{i, m})
		}
		if absent != nil {
			return nil, notFound(absent)
		}
	} else {
		for _, i := range e.order {
			if m, ok := i.at(seen); ok {
				found = append(found, sight{i, m})
			}
		}
	}
	return filtered(found, p.filters())
}

func notFound(ids []string) *wire.Error {
	for _, id := range ids {
		if !strings.HasPrefix(id, "i-") {
			return wire.Errorf("InvalidInstanceID.Malformed", "Invalid id: %q", id)
		}
	}
	if len(ids) == 1 {
		return wire.Errorf("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", ids[0])
	}
	return wire.Errorf("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(ids, ", "))
}

func filtered(all []sight, filters []filter) ([]sight, *wire.Error) {
	for _, f := range filters {
		look := valuesOf(f.name)
		if look == nil {
			return nil, unknownFilter(f.name)
		}
		all = slices.DeleteFunc(all, func(s sight) bool { return !slices.ContainsFunc(look(s), f.fits) })
	}
	return all, nil
}

// unknownFilter fails the test: EC2 may know the filter.
func unknownFilter(name string) *wire.Error {
	return &wire.Error{Status: 501, Code: "NotImplemented", Message: "the double knows no filter " + name}
}

// valuesOf says what a filter looks at in an instance; nil for a filter that is not
// known.
func valuesOf(name string) func(sight) []string {
	key, ok := strings.CutPrefix(name, "tag:")
	if !ok {
		return values[name]
	}
	return func(s sight) []string {
		if v, ok := s.instance.tagsAt(s.now.at)[key]; ok {
			return []string{v}
		}
		return nil
	}
}

func one(of func(sight) string) func(sight) []string {
	return func(s sight) []string { return []string{of(s)} }
}

// values are what filters look at:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
var values = map[string]func(sight) []string{
	"tag-key": func(s sight) []string { return slices.Collect(maps.Keys(s.instance.tagsAt(s.now.at))) },
	"network-interface.addresses.private-ip-address": func(s sight) []string {
		var all []string
		for _, n := range s.instance.Interfaces {
			all = append(all, n.Address.String())
		}
		return all
	},
	"block-device-mapping.volume-id": func(s sight) []string {
		var all []string
		for _, v := range s.instance.volumes {
			all = append(all, v.id)
		}
		return all
	},
	"instance-id":                  one(func(s sight) string { return s.instance.ID }),
	"instance-state-name":          one(func(s sight) string { return string(s.now.state) }),
	"instance-state-code":          one(func(s sight) string { return itoa(s.now.state.code()) }),
	"instance-type":                one(func(s sight) string { return s.instance.Type }),
	"availability-zone":            one(func(s sight) string { return s.instance.Zone }),
	"subnet-id":                    one(func(s sight) string { return s.instance.Subnet }),
	"network-interface.subnet-id":  one(func(s sight) string { return s.instance.Subnet }),
	"vpc-id":                       one(func(s sight) string { return s.instance.VPC }),
	"network-interface.vpc-id":     one(func(s sight) string { return s.instance.VPC }),
	"private-ip-address":           one(func(s sight) string { return s.instance.PrivateIP.String() }),
	"ip-address":                   one(func(s sight) string { return s.instance.PublicIP.String() }),
	"private-dns-name":             one(func(s sight) string { return s.instance.PrivateDNS }),
	"image-id":                     one(func(s sight) string { return s.instance.ImageID }),
	"architecture":                 one(func(s sight) string { return s.instance.Arch }),
	"key-name":                     one(func(s sight) string { return s.instance.KeyName }),
	"client-token":                 one(func(s sight) string { return s.instance.Token }),
	"reservation-id":               one(func(s sight) string { return s.instance.ReservationID }),
	"launch-index":                 one(func(s sight) string { return itoa(s.instance.Index) }),
	"launch-time":                  one(func(s sight) string { return stamp(s.instance.Launched) }),
	"placement-group-name":         one(func(s sight) string { return s.instance.Placement }),
	"capacity-reservation-id":      one(func(s sight) string { return s.instance.Reservation }),
	"iam-instance-profile.arn":     one(func(s sight) string { return s.instance.Profile }),
	"instance-lifecycle":           one(func(s sight) string { return s.instance.Market }),
	"instance.group-id":            func(s sight) []string { return s.instance.Groups },
	"group-id":                     func(s sight) []string { return s.instance.Groups },
	"network-interface.group-id":   func(s sight) []string { return s.instance.Groups },
	"metadata-options.http-tokens": one(func(s sight) string { return s.instance.spec.metadata["HttpTokens"] }),
}

// paged cuts the page out that a call asks for. A page begins after the instance that
// the token names, so that what comes and goes in between moves nothing.
func paged(p params, all []sight, least, most int) ([]sight, string, *wire.Error) {
	if token := p.text("NextToken"); token != "" {
		text, err := base64.StdEncoding.DecodeString(token)
		after, err2 := strconv.Atoi(string(text))
		if err != nil || err2 != nil {
			return nil, "", wire.Errorf("InvalidNextToken", "The specified nextToken is invalid.")
		}
		all = slices.DeleteFunc(all, func(s sight) bool { return s.instance.number <= after })
	}
	if p.text("MaxResults") == "" {
		return all, "", nil
	}
	n := p.number("MaxResults")
	if n < least || n > most {
		return nil, "", wire.Errorf("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", n, least, most)
	}
	if len(all) <= n {
		return all, "", nil
	}
	all = all[:n]
	return all, base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(all[n-1].instance.number))), nil
}
