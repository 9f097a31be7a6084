package fsx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// creation is a request of CreateFileSystem.
type creation struct {
	ClientRequestToken    string
	FileSystemType        string
	FileSystemTypeVersion string
	KmsKeyId              string
	NetworkType           string
	StorageCapacity       int
	StorageType           string
	SubnetIds             []string
	SecurityGroupIds      []string
	Tags                  []tag
	LustreConfiguration   *lustre
	OpenZFSConfiguration  *openZFS
	OntapConfiguration    *ontap
}

// lustre follows CreateFileSystemLustreConfiguration.
type lustre struct {
	AutoImportPolicy              string         `json:",omitempty"`
	AutomaticBackupRetentionDays  *int           `json:",omitempty"`
	CopyTagsToBackups             *bool          `json:",omitempty"`
	DailyAutomaticBackupStartTime string         `json:",omitempty"`
	DataCompressionType           string         `json:",omitempty"`
	DeploymentType                string         `json:",omitempty"`
	DriveCacheType                string         `json:",omitempty"`
	EfaEnabled                    *bool          `json:",omitempty"`
	ExportPath                    string         `json:",omitempty"`
	ImportPath                    string         `json:",omitempty"`
	ImportedFileChunkSize         int            `json:",omitempty"`
	LogConfiguration              map[string]any `json:",omitempty"`
	MetadataConfiguration         *metadata      `json:",omitempty"`
	PerUnitStorageThroughput      int            `json:",omitempty"`
	RootSquashConfiguration       map[string]any `json:",omitempty"`
	WeeklyMaintenanceStartTime    string         `json:",omitempty"`
}

// metadata says how many operations on metadata a file system of Lustre does.
type metadata struct {
	Mode string
	Iops int `json:",omitempty"`
}

// openZFS follows CreateFileSystemOpenZFSConfiguration.
type openZFS struct {
	AutomaticBackupRetentionDays  *int           `json:",omitempty"`
	CopyTagsToBackups             *bool          `json:",omitempty"`
	CopyTagsToVolumes             *bool          `json:",omitempty"`
	DailyAutomaticBackupStartTime string         `json:",omitempty"`
	DeploymentType                string         `json:",omitempty"`
	DiskIopsConfiguration         map[string]any `json:",omitempty"`
	EndpointIpAddressRange        string         `json:",omitempty"`
	PreferredSubnetId             string         `json:",omitempty"`
	RootVolumeConfiguration       map[string]any `json:",omitempty"`
	RouteTableIds                 []string       `json:",omitempty"`
	ThroughputCapacity            int            `json:",omitempty"`
	WeeklyMaintenanceStartTime    string         `json:",omitempty"`
}

// ontap is the least of CreateFileSystemOntapConfiguration.
type ontap struct {
	DeploymentType               string `json:",omitempty"`
	ThroughputCapacity           int    `json:",omitempty"`
	PreferredSubnetId            string `json:",omitempty"`
	AutomaticBackupRetentionDays *int   `json:",omitempty"`
	WeeklyMaintenanceStartTime   string `json:",omitempty"`
}

// check holds a request against the rules.
func (in *creation) check() error {
	switch in.FileSystemType {
	case "LUSTRE":
		if in.LustreConfiguration == nil {
			in.LustreConfiguration = &lustre{}
		}
		return in.LustreConfiguration.check(in)
	case "OPENZFS":
		if in.OpenZFSConfiguration == nil {
			return missingConfiguration("OpenZFSConfiguration")
		}
		return in.OpenZFSConfiguration.check(in)
	case "ONTAP":
		if in.OntapConfiguration == nil {
			return missingConfiguration("OntapConfiguration")
		}
		in.OntapConfiguration.DeploymentType = cmp.Or(in.OntapConfiguration.DeploymentType, "SINGLE_AZ_1")
		return in.places(in.OntapConfiguration.DeploymentType)
	}
	return badRequest("Invalid file system type: %s", in.FileSystemType)
}

func missingConfiguration(name string) error {
	return wire.Errorf("MissingFileSystemConfiguration", "%s is required", name)
}

// places checks the number of subnets: two for what lies in two zones, else one.
func (in *creation) places(deployment string) error {
	want := 1
	if strings.HasPrefix(deployment, "MULTI_AZ") {
		want = 2
	}
	if len(in.SubnetIds) != want {
		return badRequest("Exactly %d subnet IDs must be specified, got %d", want, len(in.SubnetIds))
	}
	return nil
}

// check holds Lustre's rules:
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html
func (c *lustre) check(in *creation) error {
	c.DeploymentType = cmp.Or(c.DeploymentType, "SCRATCH_1")
	c.DataCompressionType = cmp.Or(c.DataCompressionType, "NONE")
	c.WeeklyMaintenanceStartTime = cmp.Or(c.WeeklyMaintenanceStartTime, "7:05:00")
	in.StorageType = cmp.Or(in.StorageType, "SSD")
	kind := c.DeploymentType
	persistent := strings.HasPrefix(kind, "PERSISTENT_")
	switch {
	case !slices.Contains([]string{"SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"}, kind):
		return badRequest("Invalid DeploymentType: %s", kind)
	case in.StorageType == "HDD" && kind != "PERSISTENT_1":
		return badRequest("StorageType HDD is supported on PERSISTENT_1 file systems only")
	case in.StorageType == "HDD" && c.DriveCacheType == "":
		return badRequest("DriveCacheType is required when StorageType is HDD")
	case !persistent && c.PerUnitStorageThroughput != 0:
		return badRequest("PerUnitStorageThroughput is not supported with %s", kind)
	case !persistent && c.AutomaticBackupRetentionDays != nil && *c.AutomaticBackupRetentionDays > 0:
		return badRequest("Backups are not supported on %s file systems", kind)
	case kind == "PERSISTENT_2" && (c.ImportPath != "" || c.ExportPath != "" || c.AutoImportPolicy != ""):
		return badRequest("ImportPath, ExportPath and AutoImportPolicy are not supported with PERSISTENT_2: create a data repository association")
	case c.ExportPath != "" && c.ImportPath == "":
		return badRequest("ExportPath needs an ImportPath")
	case c.MetadataConfiguration != nil && kind != "PERSISTENT_2":
		return badRequest("MetadataConfiguration is supported on PERSISTENT_2 file systems only")
	case c.EfaEnabled != nil && *c.EfaEnabled && (kind != "PERSISTENT_2" || c.MetadataConfiguration == nil):
		return badRequest("EfaEnabled needs a PERSISTENT_2 file system with a MetadataConfiguration")
	}
	if rates := c.rates(in.StorageType); persistent && !slices.Contains(rates, c.PerUnitStorageThroughput) {
		return badRequest("PerUnitStorageThroughput of %s with %s must be one of %s, got %d", kind, in.StorageType, fmt.Sprint(rates), c.PerUnitStorageThroughput)
	}
	if err := c.size(in.StorageType, in.StorageCapacity); err != nil {
		return err
	}
	return in.places(kind)
}

// rates are the throughputs in MB/s for each TiB.
func (c *lustre) rates(storage string) []int {
	switch {
	case c.DeploymentType == "PERSISTENT_2":
		return []int{125, 250, 500, 1000}
	case storage == "HDD":
		return []int{12, 40}
	}
	return []int{50, 100, 200}
}

// size checks a capacity in GiB, at StorageCapacity:
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html
func (c *lustre) size(storage string, gib int) error {
	good := gib == 1200 || gib > 0 && gib%2400 == 0
	switch {
	case c.DeploymentType == "SCRATCH_1":
		good = gib == 1200 || gib == 2400 || gib > 0 && gib%3600 == 0
	case storage == "HDD" && c.PerUnitStorageThroughput == 12:
		good = gib > 0 && gib%6000 == 0
	case storage == "HDD":
		good = gib > 0 && gib%1800 == 0
	}
	if !good {
		return badRequest("%d GiB is no storage capacity of a %s file system with %s", gib, c.DeploymentType, storage)
	}
	return nil
}

// check holds the rules of OpenZFS:
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemOpenZFSConfiguration.html
func (c *openZFS) check(in *creation) error {
	first := []int{64, 128, 256, 512, 1024, 2048, 3072, 4096}
	second := []int{160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240}
	rates := map[string][]int{"SINGLE_AZ_1": first, "SINGLE_AZ_HA_1": first, "SINGLE_AZ_2": second, "SINGLE_AZ_HA_2": second, "MULTI_AZ_1": second}[c.DeploymentType]
	in.StorageType = cmp.Or(in.StorageType, "SSD")
	switch {
	case rates == nil:
		return badRequest("Invalid DeploymentType: %s", c.DeploymentType)
	case !slices.Contains(rates, c.ThroughputCapacity):
		return badRequest("ThroughputCapacity of %s must be one of %v, got %d", c.DeploymentType, rates, c.ThroughputCapacity)
	case in.StorageType == "SSD" && (in.StorageCapacity < 64 || in.StorageCapacity > 524288):
		return badRequest("StorageCapacity must be between 64 and 524288 GiB, got %d", in.StorageCapacity)
	case strings.HasPrefix(c.DeploymentType, "MULTI_AZ") && !slices.Contains(in.SubnetIds, c.PreferredSubnetId):
		return badRequest("PreferredSubnetId must be one of SubnetIds")
	}
	return in.places(c.DeploymentType)
}
