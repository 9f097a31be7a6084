// Package ec2xml reads EC2's answers that list instances. A machine with 32 network
// interfaces is described in 37 KB, of which we need a hundred bytes; the rest is
// stepped over as bytes while it arrives, so that a thousand machines take
// milliseconds and no memory to speak of. Its law: a list is whole or an error.
package ec2xml

import (
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"time"
)

// Instance is what we need to know of a machine.
type Instance struct {
	ID string
	// State is pending, running, shutting-down, terminated, stopping or stopped;
	// Reason is the code of why it changed last.
	State, Reason string
	// Address is the private one of the first interface, invalid if there is none yet.
	Address  netip.Addr
	Launched time.Time
	// Index is the machine's place in its launch, from 0.
	Index      int
	Type, Zone string
	Tags       []Tag
}

// Tag is a key with its value.
type Tag struct{ Key, Value string }

// Tag is the value of a tag, empty if there is none.
func (i *Instance) Tag(key string) string {
	for _, t := range i.Tags {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}

// Page is an answer.
type Page struct {
	Instances []Instance
	// Next is the token of the next page, empty after the last one.
	Next string
}

// Error is an answer that cannot be read.
type Error struct {
	// Offset is the byte at which reading stopped.
	Offset int64
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("read EC2's answer at byte %d: %v", e.Offset, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Launched reads the answer of RunInstances.
func Launched(r io.Reader) (Page, error) { return read(r, "RunInstancesResponse") }

// Described reads an answer of DescribeInstances.
func Described(r io.Reader) (Page, error) { return read(r, "DescribeInstancesResponse") }

func read(r io.Reader, root string) (Page, error) {
	d := decoder{scanner: scanner{r: r, buf: make([]byte, bufferBytes)}, words: map[string]string{}}
	err := d.document(root)
	if err != nil {
		return Page{}, &Error{Offset: d.read - int64(d.end-d.pos), Err: err}
	}
	return d.page, nil
}

type decoder struct {
	scanner
	page Page
	// words are texts that come again and again, such as tags.
	words map[string]string
}

func (d *decoder) document(root string) error {
	kind, err := d.next()
	if err != nil {
		return err
	}
	if kind != start || string(d.name) != root {
		return fmt.Errorf("it begins with %q, not with %s", d.name, root)
	}
	if err := d.children(d.rootChild); err != nil {
		return err
	}
	return d.nothingMore()
}

func (d *decoder) rootChild(name string) error {
	switch name {
	case "instancesSet": // of RunInstances
		return d.children(d.instanceItem)
	case "reservationSet":
		return d.children(d.reservation)
	case "nextToken":
		return d.word(&d.page.Next)
	}
	return d.skip()
}

func (d *decoder) reservation(string) error {
	return d.children(func(name string) error {
		if name == "instancesSet" {
			return d.children(d.instanceItem)
		}
		return d.skip()
	})
}

func (d *decoder) instanceItem(string) error {
	var i Instance
	err := d.children(func(name string) error { return d.field(&i, name) })
	if err != nil {
		return err
	}
	if i.ID == "" || i.State == "" {
		return fmt.Errorf("an instance (%q) without an ID or a state", i.ID)
	}
	d.page.Instances = append(d.page.Instances, i)
	return nil
}

func (d *decoder) field(i *Instance, name string) error {
	switch name {
	case "instanceId":
		return d.string(&i.ID)
	case "instanceState":
		return d.inner("name", &i.State)
	case "stateReason":
		return d.inner("code", &i.Reason)
	case "placement":
		return d.inner("availabilityZone", &i.Zone)
	case "instanceType":
		return d.word(&i.Type)
	case "privateIpAddress":
		return d.parsed(func(s string) (err error) { i.Address, err = netip.ParseAddr(s); return err })
	case "launchTime":
		return d.parsed(func(s string) (err error) { i.Launched, err = time.Parse(time.RFC3339, s); return err })
	case "amiLaunchIndex":
		return d.parsed(func(s string) (err error) { i.Index, err = strconv.Atoi(s); return err })
	case "tagSet":
		return d.children(func(string) error {
			i.Tags = append(i.Tags, Tag{})
			return d.children(func(name string) error { return d.tag(&i.Tags[len(i.Tags)-1], name) })
		})
	case "networkInterfaceSet":
		return d.leap(endOfInterfaces)
	}
	return d.skip()
}

func (d *decoder) tag(t *Tag, name string) error {
	switch name {
	case "key":
		return d.word(&t.Key)
	case "value":
		return d.word(&t.Value)
	}
	return d.skip()
}

// inner reads the text of one child.
func (d *decoder) inner(child string, into *string) error {
	return d.children(func(name string) error {
		if name == child {
			return d.word(into)
		}
		return d.skip()
	})
}

func (d *decoder) string(into *string) error {
	text, err := d.text()
	*into = string(text)
	return err
}

// word is string for texts that come often.
func (d *decoder) word(into *string) error {
	text, err := d.text()
	if err != nil {
		return err
	}
	w, known := d.words[string(text)]
	if !known {
		w = string(text)
		d.words[w] = w
	}
	*into = w
	return nil
}

// parsed reads a number or a time. An empty text is left out.
func (d *decoder) parsed(parse func(string) error) error {
	text, err := d.text()
	if err != nil || len(text) == 0 {
		return err
	}
	return parse(string(text))
}
