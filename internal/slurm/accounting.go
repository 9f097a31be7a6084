package slurm

import (
	"cmp"
	"fmt"
	"strings"
)

// Accounting says where jobs are accounted for. The zero value is a slurmdbd and a
// database on the head node.
type Accounting struct {
	// Off is nowhere.
	Off bool
	// Host and Port are those of a slurmdbd elsewhere, empty for the head node's.
	Host string
	Port int
	// Database is the head node's slurmdbd's, where it is not on the same machine.
	Database Database
}

// Database is a MySQL server.
type Database struct {
	Host           string
	Port           int
	User, Password string
	// Name is the database's.
	Name string
}

// Unreadable is why slurmdbd cannot read how the database is reached, empty if it can.
//
// https://slurm.schedmd.com/slurmdbd.conf.html#OPT_StoragePass
func (d Database) Unreadable() string {
	if strings.Contains(d.Password, "#") {
		return "the database's password has a #, which Slurm takes for the beginning of a comment"
	}
	return ""
}

func (c Config) accounting(set func(string, any)) {
	if c.Accounting.Off {
		set("AccountingStorageType", "accounting_storage/none")
	} else {
		set("AccountingStorageType", "accounting_storage/slurmdbd")
		set("AccountingStorageHost", cmp.Or(c.Accounting.Host, c.HeadName))
		if c.Accounting.Port != 0 {
			set("AccountingStoragePort", c.Accounting.Port)
		}
		// slurmctld does not start with these where no database stores them.
		set("AccountingStorageTRES", "gres/gpu")
		set("AccountingStoreFlags", "job_script")
	}
	gather := "jobacct_gather/linux"
	if c.Confine {
		gather = "jobacct_gather/cgroup"
	}
	set("JobAcctGatherType", gather)
	set("JobCompType", "jobcomp/none")
}

// DBDConf is slurmdbd.conf. An accounting database on the head node is reached
// through MariaDB's own socket, where the user's identity is proof enough: there is
// no password.
func (c Config) DBDConf() string {
	var b strings.Builder
	set := func(key string, value any) { fmt.Fprintf(&b, "%s=%v\n", key, value) }
	fmt.Fprintln(&b, "# Written by muster.")
	set("DbdHost", c.HeadName)
	set("DbdAddr", c.HeadAddress)
	set("SlurmUser", c.ControlUser)
	set("AuthType", "auth/munge")
	set("StorageType", "accounting_storage/mysql")
	if d := c.Accounting.Database; d.Host != "" {
		set("StorageHost", d.Host)
		set("StoragePort", d.Port)
		set("StorageUser", d.User)
		set("StoragePass", d.Password)
		set("StorageLoc", d.Name)
	} else {
		set("StorageHost", "localhost")
		set("StorageUser", c.ControlUser)
		set("StorageLoc", "slurm_acct_db")
	}
	set("DebugLevelSyslog", "quiet")
	return b.String()
}
