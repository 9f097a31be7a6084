package slurm

import "fmt"

// DBDConf is slurmdbd.conf for an accounting database on the head node that is
// reached through MariaDB's own socket, where the user's identity is proof
// enough: there is no password.
func (c Config) DBDConf() string {
	return fmt.Sprintf(`# Written by muster.
DbdHost=%s
DbdAddr=%s
SlurmUser=%s
AuthType=auth/munge
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=%s
StorageLoc=slurm_acct_db
DebugLevelSyslog=quiet
`, c.HeadName, c.HeadAddress, c.ControlUser, c.ControlUser)
}
