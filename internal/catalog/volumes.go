package catalog

// Volume are the limits of a type of EBS volume as ParallelCluster 3.16.1 has
// them (2026-07). EC2 allows more of gp3 since September 2025, which
// ParallelCluster refuses.
type Volume struct {
	Type           string
	MinGiB, MaxGiB int
	// Iops are 0 where they cannot be set; DefaultIops is ParallelCluster's.
	MinIops, MaxIops, DefaultIops, IopsPerGiB int
	// Throughput is in MiB/s, 0 where it cannot be set.
	MinThroughput, MaxThroughput, DefaultThroughput int
	// Boots says that a root volume can have the type.
	Boots bool
}

// Sold reports whether a volume of the type can have a size, IOPS and a throughput.
func (v Volume) Sold(gib, iops, mbps int) bool {
	within := func(n, low, high int) bool { return high == 0 || n >= low && n <= high }
	return v.MaxGiB > 0 && within(gib, v.MinGiB, v.MaxGiB) && within(iops, v.MinIops, v.MaxIops) && within(mbps, v.MinThroughput, v.MaxThroughput)
}

// IopsPerThroughput is how many IOPS a gp3 volume needs for each MiB/s.
const IopsPerThroughput = 4

// VolumeOf finds the limits of a type such as "gp3".
func VolumeOf(kind string) (Volume, bool) {
	switch kind {
	case "gp3":
		return Volume{Type: kind, MinGiB: 1, MaxGiB: 16384, MinIops: 3000, MaxIops: 16000, DefaultIops: 3000, IopsPerGiB: 500,
			MinThroughput: 125, MaxThroughput: 1000, DefaultThroughput: 125, Boots: true}, true
	case "gp2":
		return Volume{Type: kind, MinGiB: 1, MaxGiB: 16384, Boots: true}, true
	case "io1":
		return Volume{Type: kind, MinGiB: 4, MaxGiB: 16384, MinIops: 100, MaxIops: 64000, DefaultIops: 100, IopsPerGiB: 50, Boots: true}, true
	case "io2":
		return Volume{Type: kind, MinGiB: 4, MaxGiB: 65536, MinIops: 100, MaxIops: 256000, DefaultIops: 100, IopsPerGiB: 1000, Boots: true}, true
	case "st1", "sc1":
		return Volume{Type: kind, MinGiB: 500, MaxGiB: 16384}, true
	case "standard":
		return Volume{Type: kind, MinGiB: 1, MaxGiB: 1024, Boots: true}, true
	default:
		return Volume{}, false
	}
}
