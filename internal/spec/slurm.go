package spec

import "github.com/muster-hpc/muster/internal/diag"

// SlurmSettings is Scheduling.SlurmSettings.
type SlurmSettings struct {
	// ScaledownIdleMinutes is how long a dynamic node may be idle before it is
	// taken away; -1 is never. ParallelCluster's default is 10.
	ScaledownIdleMinutes  int
	MemoryBasedScheduling bool
	// Custom are lines for slurm.conf in the file's order, CustomFile the URL of a
	// file with such lines.
	Custom     []Setting
	CustomFile string
	// Database and ExternalSlurmdbd are where jobs are accounted for; nil if the file
	// names none.
	Database         *Database
	ExternalSlurmdbd *Slurmdbd
	// MungeKeySecretARN is empty if the cluster makes its own key.
	MungeKeySecretARN string
	UpdateStrategy    UpdateStrategy
	DNS               DNS
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
	URI, UserName, PasswordSecretARN string
	// Name is empty for ParallelCluster's.
	Name string
}

// Slurmdbd is a slurmdbd that is there already.
type Slurmdbd struct {
	Host string
	Port int
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
	// Disabled says that nobody keeps them.
	Disabled bool
	// HostedZoneID is the file's zone, empty for one of the cluster's own.
	HostedZoneID string
}

func buildSlurm(v View) SlurmSettings {
	s := SlurmSettings{
		ScaledownIdleMinutes:  v.Key("ScaledownIdletime").Int(),
		MemoryBasedScheduling: v.Key("EnableMemoryBasedScheduling").Bool(),
		Custom:                settingLines(v.Key("CustomSlurmSettings")),
		CustomFile:            v.Key("CustomSlurmSettingsIncludeFile").Text(),
		MungeKeySecretARN:     v.Key("MungeKeySecretArn").Text(),
		UpdateStrategy:        UpdateStrategy(v.Key("QueueUpdateStrategy").Text()),
		DNS:                   DNS{Disabled: v.At("Dns.DisableManagedDns").Bool(), HostedZoneID: v.At("Dns.HostedZoneId").Text()},
	}
	if d := v.Key("Database"); d.Present() {
		s.Database = &Database{
			URI: d.Key("Uri").Text(), UserName: d.Key("UserName").Text(), PasswordSecretARN: d.Key("PasswordSecretArn").Text(),
			Name: d.Key("DatabaseName").Text(),
		}
	}
	if d := v.Key("ExternalSlurmdbd"); d.Present() {
		s.ExternalSlurmdbd = &Slurmdbd{Host: d.Key("Host").Text(), Port: d.Key("Port").Int()}
	}
	return s
}
