package api

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

// mostRecords is how many records one call deletes.
const mostRecords = 500

// DeleteRecords deletes the address records of a zone whose names end in a domain,
// and says how many there were. A zone that is not there has none.
func (a *Account) DeleteRecords(ctx context.Context, zone, domain string) (int, error) {
	client := route53.NewFromConfig(a.config)
	var changes []types.Change
	for page, err := range pagesOf(ctx, route53.NewListResourceRecordSetsPaginator(client, &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})) {
		if code(err) == "NoSuchHostedZone" {
			return 0, nil
		}
		if err != nil {
			return 0, failed(err, "list the DNS records of zone %s", zone)
		}
		for _, r := range page.ResourceRecordSets {
			if address(r) && below(aws.ToString(r.Name), domain) {
				changes = append(changes, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: &r})
			}
		}
	}
	for batch := range slices.Chunk(changes, mostRecords) {
		_, err := client.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Changes: batch}})
		if err != nil {
			return 0, failed(err, "delete %d DNS records of zone %s", len(batch), zone)
		}
	}
	return len(changes), nil
}

func address(r types.ResourceRecordSet) bool {
	return r.Type == types.RRTypeA || r.Type == types.RRTypeAaaa || r.Type == types.RRTypeCname
}

// below says that a name lies in a domain. An empty domain has all names.
func below(name, domain string) bool {
	name, domain = strings.TrimSuffix(name, "."), strings.TrimSuffix(domain, ".")
	return domain == "" || strings.HasSuffix(name, "."+domain)
}

// decoded is a text in base64; another text is itself.
func decoded(text string) string {
	if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
		return string(plain)
	}
	return text
}
