package catalog

import (
	"slices"
	"strings"
)

// HoursPerMonth is the month that AWS's prices of storage mean.
const HoursPerMonth = 730

// Lustre is an FSx for Lustre file system as it is bought.
type Lustre struct {
	// DeploymentType is SCRATCH_1, SCRATCH_2, PERSISTENT_1 or PERSISTENT_2.
	DeploymentType string
	HDD            bool
	// PerTiB is PerUnitStorageThroughput in MB/s for each TiB; scratch has none.
	PerTiB int
	// CapacityGiB is StorageCapacity.
	CapacityGiB int
}

// LustreClientMbps is what one client of FSx for Lustre gets over the ordinary network
// (ENA). EFA gives more, but ParallelCluster has no key for it
// (https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html).
const LustreClientMbps = 100_000

// Rate is the throughput for each TiB in MB/s, 0 if it is not known.
func (l Lustre) Rate() int {
	switch l.DeploymentType {
	case "SCRATCH_1", "SCRATCH_2":
		return 200
	}
	return l.PerTiB
}

// MBps is the baseline throughput of the whole file system. AWS counts 1200 GiB
// as 1.2 TiB here.
func (l Lustre) MBps() float64 { return float64(l.Rate()) * float64(l.CapacityGiB) / 1000 }

// Sold reports whether such a file system can be bought.
func (l Lustre) Sold() bool {
	if strings.HasPrefix(l.DeploymentType, "PERSISTENT") && !slices.Contains(LustreThroughput(l.DeploymentType, l.HDD), l.PerTiB) {
		return false
	}
	sizes := LustreCapacity(l.DeploymentType, l.HDD, l.PerTiB)
	return l.CapacityGiB > 0 && sizes.Every > 0 && sizes.Allows(l.CapacityGiB)
}

// Fit is the smallest capacity that can be bought for a number of GiB, 0 if it
// is not known.
func (l Lustre) Fit(gib int) int {
	sizes := LustreCapacity(l.DeploymentType, l.HDD, l.PerTiB)
	if sizes.Every == 0 {
		return 0
	}
	_, high := sizes.Around(gib)
	return high
}

// Price is what a GB costs for a month in Region. It is false where the price is
// not known.
func (l Lustre) Price() (Price, bool) {
	const page = "what is commonly quoted; AWS has its own at https://aws.amazon.com/fsx/lustre/pricing/"
	if l.DeploymentType == "SCRATCH_2" {
		return Price{USD: 0.140, Date: "2026", Source: page}, true
	}
	if l.DeploymentType != "PERSISTENT_2" || l.HDD {
		return Price{}, false
	}
	switch l.PerTiB {
	case 125:
		return Price{USD: 0.145, Date: "2026", Source: "https://c3x.dev/resources/aws/aws_fsx_lustre_file_system/"}, true
	case 250:
		return Price{USD: 0.210, Date: "2026", Source: page}, true
	case 500:
		return Price{USD: 0.340, Date: "2026", Source: page}, true
	case 1000:
		return Price{USD: 0.600, Date: "2026", Source: page}, true
	}
	return Price{}, false
}

// goldens are answers of AWS's price list that a program for price estimates
// keeps with its tests.
const goldens = "AWS's price list, as infracost's tests have it, " + Region

// VolumePrices is what a month of an EBS volume costs: for each GB, and for the
// IOPS and MB/s beyond what comes with it.
type VolumePrices struct {
	GB, IOPS, MBps Price
	// FreeIOPS and FreeMBps come with the volume.
	FreeIOPS, FreeMBps int
	// MaxIOPS is up to where the price of IOPS holds; 0 is everywhere.
	MaxIOPS int
}

// VolumePrice finds the prices of a type of EBS volume in Region.
func VolumePrice(volumeType string) (VolumePrices, bool) {
	p := func(usd float64) Price { return Price{USD: usd, Date: "2024-07-01", Source: goldens, Confirmed: true} }
	switch volumeType {
	case "gp3":
		return VolumePrices{GB: p(0.08), IOPS: p(0.005), MBps: p(0.04), FreeIOPS: 3000, FreeMBps: 125}, true
	case "gp2":
		return VolumePrices{GB: p(0.10)}, true
	case "io1":
		return VolumePrices{GB: p(0.125), IOPS: p(0.065)}, true
	case "io2": // above, it has lower prices in two steps: https://aws.amazon.com/ebs/pricing/
		return VolumePrices{GB: p(0.125), IOPS: p(0.065), MaxIOPS: 32_000}, true
	case "st1":
		return VolumePrices{GB: p(0.045)}, true
	case "sc1":
		return VolumePrices{GB: p(0.015)}, true
	case "standard":
		return VolumePrices{GB: p(0.05)}, true
	}
	return VolumePrices{}, false
}

// EFSPrices is what EFS costs for a month: for each GB that is stored, and for
// each MB/s of provisioned throughput. In Region, Standard storage.
func EFSPrices() (gb, mbps Price) {
	p := func(usd float64) Price { return Price{USD: usd, Date: "2024-07-01", Source: goldens, Confirmed: true} }
	return p(0.30), p(6.00)
}

// ZFSPrices is what FSx for OpenZFS costs for a month: for each GB, for each
// MB/s, and for each of the IOPS beyond 3 for each GB. It is known for
// SINGLE_AZ_1 only.
func ZFSPrices(deploymentType string) (gb, mbps, iops Price, ok bool) {
	p := func(usd float64) Price { return Price{USD: usd, Date: "2024-07-01", Source: goldens, Confirmed: true} }
	return p(0.09), p(0.26), p(0.006), deploymentType == "SINGLE_AZ_1"
}
