package nodes_test

import "encoding/xml"

func (c *cloud) change(body []byte) (int, string) {
	var batch struct {
		Changes []struct {
			Action string
			Record struct {
				Name, Type string
				TTL        int
				Value      string `xml:"ResourceRecords>ResourceRecord>Value"`
			} `xml:"ResourceRecordSet"`
		} `xml:"ChangeBatch>Changes>Change"`
	}
	if err := xml.Unmarshal(body, &batch); err != nil || len(batch.Changes) > 500 {
		return 400, "<ErrorResponse><Error><Code>InvalidInput</Code></Error></ErrorResponse>"
	}
	for _, change := range batch.Changes {
		if change.Action == "DELETE" && c.records[change.Record.Name] != change.Record.Value {
			return 400, "<InvalidChangeBatch><Messages><Message>not found</Message></Messages></InvalidChangeBatch>"
		}
	}
	for _, change := range batch.Changes {
		if change.Action == "DELETE" {
			delete(c.records, change.Record.Name)
			continue
		}
		c.records[change.Record.Name] = change.Record.Value
	}
	return 200, "<ChangeResourceRecordSetsResponse><ChangeInfo><Id>C</Id><Status>PENDING</Status><SubmittedAt>2026-11-21T20:00:00Z</SubmittedAt></ChangeInfo></ChangeResourceRecordSetsResponse>"
}
