package boot

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// installers are what brings MariaDB on the distributions of ParallelCluster's images:
// the program that is there, and its command.
var installers = []struct {
	program  string
	commands [][]string
}{
	// Another program may install something at the same time, when a machine is new.
	{"apt-get", [][]string{{"apt-get", "update", "-q"}, {"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=120",
		"install", "-q", "-y", "mariadb-server"}}},
	{"dnf", [][]string{{"/bin/sh", "-c", "dnf -q -y install mariadb105-server || dnf -q -y install mariadb-server"}}},
	{"yum", [][]string{{"yum", "-q", "-y", "install", "mariadb-server"}}},
}

// databaseWait bounds the installation of the database.
const databaseWait = 5 * time.Minute

// databasePatience is how long an installation that failed is tried again while the
// cluster works without it.
var databasePatience = patience{Limit: time.Hour, Every: 2 * time.Minute}

// InsistOnDatabase installs MariaDB, however long the system's own updates hold the lock
// of packages: that of apt-get's lists knows no time limit.
func (m Machine) InsistOnDatabase(ctx context.Context) error {
	return databasePatience.try(ctx, func(ctx context.Context) (bool, error) { return true, m.InstallDatabase(ctx) })
}

// InstallDatabase installs MariaDB from the distribution's own packages.
func (m Machine) InstallDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, databaseWait, fmt.Errorf("the installation of MariaDB took longer than %s", databaseWait))
	defer cancel()
	for _, i := range installers {
		if m.find(i.program) == "" {
			continue
		}
		for _, c := range i.commands {
			if _, err := m.Command(ctx, c...); err != nil {
				return fmt.Errorf("install MariaDB: %w", err)
			}
		}
		return nil
	}
	return errors.New("install MariaDB: this image has none of apt-get, dnf and yum")
}
