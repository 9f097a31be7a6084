package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pause"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// table is a table of DynamoDB, as far as ParallelCluster's node package needs one:
// items that are written in batches.
type table struct {
	takes time.Duration

	mu    sync.Mutex                   // guards what follows
	items map[string]map[string]string // attributes by Id
}

// attribute is a value of DynamoDB's.
type attribute struct{ S string }

// Answer implements wire.Service.
func (t *table) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	if c.Action != "BatchWriteItem" {
		return wire.Missing("the table has no %s", c.Action), true
	}
	var in struct {
		RequestItems map[string][]struct {
			PutRequest struct{ Item map[string]attribute }
		}
	}
	if err := c.Decode(&in); err != nil {
		return wire.Missing("%v", err), true
	}
	if pause.For(ctx, t.takes) != nil {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, puts := range in.RequestItems {
		for _, put := range puts {
			item := map[string]string{}
			for name, value := range put.PutRequest.Item {
				item[name] = value.S
			}
			t.items[item["Id"]] = item
		}
	}
	return wire.JSON(map[string]any{"UnprocessedItems": map[string]any{}}), true
}

// zone is a hosted zone of Route 53, as far as records are changed in it.
type zone struct {
	takes time.Duration

	mu      sync.Mutex        // guards what follows
	records map[string]string // address by name
}

type changes struct {
	Changes []struct {
		Action string
		Name   string   `xml:"ResourceRecordSet>Name"`
		Values []string `xml:"ResourceRecordSet>ResourceRecords>ResourceRecord>Value"`
	} `xml:"ChangeBatch>Changes>Change"`
}

// Answer implements wire.Service.
func (z *zone) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	switch c.Operation() {
	case "ChangeResourceRecordSets":
	case "ListResourceRecordSets":
		return z.list(), true
	default:
		return wire.Missing("the zone has no %s", c.Operation()), true
	}
	var in changes
	if err := xml.Unmarshal(c.Body, &in); err != nil {
		return wire.Missing("%v", err), true
	}
	if pause.For(ctx, z.takes) != nil {
		return nil, false
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, change := range in.Changes {
		name := strings.TrimSuffix(change.Name, ".")
		if change.Action == "DELETE" {
			delete(z.records, name)
			continue
		}
		z.records[name] = strings.Join(change.Values, ",")
	}
	return &wire.Answer{Type: "text/xml", Body: []byte(xml.Header + `<ChangeResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/">` +
		`<ChangeInfo><Id>/change/C1</Id><Status>INSYNC</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo></ChangeResourceRecordSetsResponse>`)}, true
}

func (z *zone) list() *wire.Answer {
	z.mu.Lock()
	defer z.mu.Unlock()
	var b strings.Builder
	b.WriteString(xml.Header + `<ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ResourceRecordSets>`)
	for name, address := range z.records {
		fmt.Fprintf(&b, "<ResourceRecordSet><Name>%s.</Name><Type>A</Type><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>%s</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>", name, address)
	}
	b.WriteString("</ResourceRecordSets><IsTruncated>false</IsTruncated><MaxItems>10000</MaxItems></ListResourceRecordSetsResponse>")
	return &wire.Answer{Status: http.StatusOK, Type: "text/xml", Body: []byte(b.String())}
}
