package catalog

import "fmt"

// LustreThroughput are the values of PerUnitStorageThroughput, in MB/s for each
// TiB, that a persistent file system can have; none for other deployment types.
// They are those of ParallelCluster 3.16.1 (2026-07).
func LustreThroughput(deployment string, hdd bool) []int {
	switch {
	case deployment == "PERSISTENT_1" && hdd:
		return []int{12, 40}
	case deployment == "PERSISTENT_1":
		return []int{50, 100, 200}
	case deployment == "PERSISTENT_2" && !hdd:
		return []int{125, 250, 500, 1000}
	default:
		return nil
	}
}

// Capacity are the sizes that a Lustre file system can have, in GiB: the small
// ones, and the multiples of Every.
type Capacity struct {
	Small []int
	Every int
}

// LustreCapacity are the sizes for a deployment type as ParallelCluster 3.16.1
// (2026-07) and FSx have them; Every is 0 if they are not known.
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html
func LustreCapacity(deployment string, hdd bool, throughput int) Capacity {
	switch {
	case deployment == "SCRATCH_1":
		return Capacity{Small: []int{1200, 2400}, Every: 3600}
	case deployment == "PERSISTENT_1" && hdd && throughput == 12:
		return Capacity{Every: 6000}
	case deployment == "PERSISTENT_1" && hdd && throughput == 40:
		return Capacity{Every: 1800}
	case deployment == "PERSISTENT_1" && hdd:
		return Capacity{}
	case deployment == "SCRATCH_2", deployment == "PERSISTENT_1", deployment == "PERSISTENT_2":
		return Capacity{Small: []int{1200}, Every: 2400}
	default:
		return Capacity{}
	}
}

// Allows reports whether a file system can have a size.
func (c Capacity) Allows(gib int) bool {
	low, high := c.Around(gib)
	return low == gib || high == gib
}

// Around are the nearest sizes, one up to gib and one from it on; low is 0 if
// there is none.
func (c Capacity) Around(gib int) (low, high int) {
	high = max(1, (gib+c.Every-1)/c.Every) * c.Every
	low = max(0, gib/c.Every*c.Every)
	for _, small := range c.Small {
		if small <= gib {
			low = max(low, small)
		} else {
			high = min(high, small)
		}
	}
	if low == gib {
		high = gib
	}
	return low, high
}

// String says which sizes there are.
func (c Capacity) String() string {
	switch len(c.Small) {
	case 0:
		return fmt.Sprintf("a multiple of %d", c.Every)
	case 1:
		return fmt.Sprintf("%d or a multiple of %d", c.Small[0], c.Every)
	default:
		return fmt.Sprintf("%d, %d or a multiple of %d", c.Small[0], c.Small[1], c.Every)
	}
}
