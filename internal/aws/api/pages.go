package api

import (
	"context"
	"iter"
)

// pagesOf are the pages of a list of AWS's, up to the first error.
func pagesOf[Page, Options any](ctx context.Context, p interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*Options)) (*Page, error)
}) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		for p.HasMorePages() {
			if page, err := p.NextPage(ctx); !yield(page, err) || err != nil {
				return
			}
		}
	}
}
