package spec

import "github.com/muster-hpc/muster/internal/diag"

// SlurmSettings is Scheduling.SlurmSettings.
type SlurmSettings struct {
	// ScaledownIdleMinutes is how long a dynamic node may be idle before it is
	// taken away; -1 is never. ParallelCluster's default is 10.
	ScaledownIdleMinutes  int  `key:"ScaledownIdletime"`
	MemoryBasedScheduling bool `key:"EnableMemoryBasedScheduling"`
	// Custom are lines for slurm.conf in the file's order, CustomFile the URL of a
	// file with such lines.
	Custom     []Setting
	CustomFile string `key:"CustomSlurmSettingsIncludeFile"`
	// Database and ExternalSlurmdbd are where jobs are accounted for; nil if the file
	// names none.
	Database         *Database `key:"Database"`
	ExternalSlurmdbd *Slurmdbd `key:"ExternalSlurmdbd"`
	// MungeKeySecretARN is empty if the cluster makes its own key.
	MungeKeySecretARN string         `key:"MungeKeySecretArn"`
	UpdateStrategy    UpdateStrategy `key:"QueueUpdateStrategy"`
	DNS               DNS            `key:"Dns"`
}

// Setting is one key of a Slurm configuration file, spelt as in the cluster file.
type Setting struct {
	Key, Value string
	// Place is where the key stands in the cluster file.
	Place diag.Place
}

// Database is a database server that is there already.
type Database struct {
	// URI is a host, with a port or without.
	URI               string `key:"Uri"`
	UserName          string `key:"UserName"`
	PasswordSecretARN string `key:"PasswordSecretArn"`
	// Name is empty for ParallelCluster's.
	Name string `key:"DatabaseName"`
}

// Slurmdbd is a slurmdbd that is there already.
type Slurmdbd struct {
	Host string `key:"Host"`
	Port int    `key:"Port"`
}

// UpdateStrategy is what becomes of the nodes of a queue that changes.
type UpdateStrategy string

// Strategies of updates.
const (
	UpdateStopped   UpdateStrategy = "COMPUTE_FLEET_STOP"
	UpdateDrain     UpdateStrategy = "DRAIN"
	UpdateTerminate UpdateStrategy = "TERMINATE"
)

// DNS says where the nodes' names are.
type DNS struct {
	// Disabled says that the names are in no zone.
	Disabled bool `key:"DisableManagedDns"`
	// HostedZoneID is the file's zone, empty for one of the cluster's own.
	HostedZoneID string `key:"HostedZoneId"`
}

func (s *SlurmSettings) build(v View) {
	v.fill(s)
	s.Custom = settingLines(v.Key("CustomSlurmSettings"))
}
