package catalog

import "time"

// Limits of Capacity Blocks for ML.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-purchase.html
const (
	// BlockInstances is how many instances one block can have, AllBlockInstances
	// how many all blocks of an account can have.
	BlockInstances, AllBlockInstances = 64, 256
	// BlockDays is how long a block can be, BlockWeeksAhead how early it can be bought.
	BlockDays, BlockWeeksAhead = 182, 8
	// BlockEnd is when a block ends (UTC), and BlockTail is how long before that
	// AWS begins to end its instances.
	BlockEnd  = "11:30"
	BlockTail = 30 * time.Minute
	// BlockSource says all this.
	BlockSource = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-purchase.html"
)

// BlockLength is the shortest time that can be bought for a number of days:
// whole days up to 14, then whole weeks. It is BlockDays for more than that.
func BlockLength(days float64) int {
	n := max(1, int(days))
	if float64(n) < days {
		n++
	}
	if n > 14 {
		n = (n + 6) / 7 * 7
	}
	return min(n, BlockDays)
}

// Blocks divides instances over blocks.
func Blocks(instances int) []int {
	var sizes []int
	for ; instances > 0; instances -= BlockInstances {
		sizes = append(sizes, min(instances, BlockInstances))
	}
	return sizes
}
