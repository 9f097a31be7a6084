package ec2

import (
	"context"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// merge asks moto the same, changes its items and adds ours. An item that has lost
// its name is left out. set is the list's
// element. Where there is no moto, ours are all.
func (e *EC2) merge(ctx context.Context, c *wire.Call, set string, change func(*node), ours func(*writer)) (*wire.Answer, *wire.Error) {
	var root node
	if e.opts.Moto != nil {
		answer, err := e.moto(ctx, c)
		if err != nil || answer.Status != http.StatusOK {
			return answer, err
		}
		if err := xml.Unmarshal(answer.Body, &root); err != nil {
			return nil, &wire.Error{Status: http.StatusInternalServerError, Code: "InternalError", Message: c.Action + ": " + err.Error()}
		}
	}
	var w writer
	e.mu.Lock()
	defer e.mu.Unlock()
	w.open(set)
	for i := range root.Nodes {
		if root.Nodes[i].XMLName.Local != set {
			continue
		}
		for k := range root.Nodes[i].Nodes {
			item := &root.Nodes[i].Nodes[k]
			if change(item); item.XMLName.Local != "" {
				item.write(&w)
			}
		}
	}
	ours(&w)
	w.close(set)
	for _, other := range root.Nodes {
		if name := other.XMLName.Local; name != set && name != "requestId" {
			other.write(&w)
		}
	}
	return w.answer(c), nil
}

func (n *node) write(w *writer) {
	w.open(n.XMLName.Local)
	if len(n.Nodes) == 0 {
		_ = xml.EscapeText(w, []byte(strings.TrimSpace(n.Text))) // never fails on a buffer
	}
	for i := range n.Nodes {
		n.Nodes[i].write(w)
	}
	w.close(n.XMLName.Local)
}

// child is the text of an element of an item.
func (n *node) child(name string) string {
	for _, c := range n.Nodes {
		if c.XMLName.Local == name {
			return strings.TrimSpace(c.Text)
		}
	}
	return ""
}

// set changes the text of an element of an item, or adds it.
func (n *node) set(name, text string) {
	for i, c := range n.Nodes {
		if c.XMLName.Local == name {
			n.Nodes[i].Text, n.Nodes[i].Nodes = text, nil
			return
		}
	}
	n.Nodes = append(n.Nodes, node{XMLName: xml.Name{Local: name}, Text: text})
}

// element makes an element with others in it.
func element(name string, nodes ...node) node {
	return node{XMLName: xml.Name{Local: name}, Nodes: nodes}
}

func leaf(name, text string) node { return node{XMLName: xml.Name{Local: name}, Text: text} }

// tagsOf are the tags of an item.
func tagsOf(item *node) map[string]string {
	tags := map[string]string{}
	for _, set := range item.Nodes {
		if set.XMLName.Local != "tagSet" {
			continue
		}
		for _, t := range set.Nodes {
			tags[t.child("key")] = t.child("value")
		}
	}
	return tags
}

// describeGateways is DescribeNatGateways: moto's, which does not look at tags.
func (e *EC2) describeGateways(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	filters := slices.DeleteFunc(p.filters(), func(f filter) bool { return !strings.HasPrefix(f.name, "tag") })
	return e.merge(ctx, c, "natGatewaySet", func(item *node) {
		if ok, err := resourceFits(filters, tagsOf(item), map[string]string{}); err != nil || !ok {
			item.XMLName.Local = ""
		}
	}, func(*writer) {})
}
