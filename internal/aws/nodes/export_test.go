package nodes

import (
	"context"

	"github.com/muster-hpc/muster/internal/aws/nodes/journal"
)

// Book is the journal, for tests that let it fail.
type Book = book

// OpenWith is Open with another journal around the real one.
func OpenWith(ctx context.Context, c Config, wrap func(Book) Book) (*Fleet, error) {
	j, launches, _, err := journal.Open(c.Journal)
	if err != nil {
		return nil, err
	}
	return newFleet(ctx, c, wrap(j), launches), nil
}

// Causes are the codes that are known, with their source.
func Causes() map[string]string {
	all := map[string]string{}
	for code, c := range causes {
		all[code] = string(c.cause) + " " + c.source
	}
	return all
}
