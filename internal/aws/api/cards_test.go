package api

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/test/cloud"
)

// TestTypes_number_their_cards_from_zero: of EC2's recorded answers none leaves out a
// number, so that the built-in list may count. A type that does has its numbers.
func TestTypes_number_their_cards_from_zero(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Region: home})
	n, err := Of(c.Config()).Types(t.Context(), time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	several := 0
	for _, o := range n.Types {
		if o.Cards > 1 {
			several++
		}
		if len(o.CardIndexes) > 0 {
			t.Errorf("%s numbers its cards %v: the built-in list has to say so", o.Type, o.CardIndexes)
		}
	}
	if several < 20 {
		t.Errorf("%d types have several cards, want 20 or more", several)
	}
}

func TestCardIndexes(t *testing.T) {
	for _, row := range []struct{ said, want []int32 }{
		{nil, nil}, {[]int32{0}, nil}, {[]int32{0, 1, 2}, nil}, {[]int32{0, 2, 3}, []int32{0, 2, 3}}, {[]int32{3, 0, 1}, []int32{0, 1, 3}},
	} {
		var cards []types.NetworkCardInfo
		for _, index := range row.said {
			cards = append(cards, types.NetworkCardInfo{NetworkCardIndex: &index})
		}
		var got []int32
		for _, index := range cardIndexes(cards) {
			got = append(got, int32(index))
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%v: got %v, want %v", row.said, got, row.want)
		}
	}
}
