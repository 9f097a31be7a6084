package doctor

import "time"

// Facts are what look saw. What could not be seen is in Blind.
type Facts struct {
	System  string // GOOS
	Machine string // GOARCH
	OS      Release
	// Apt says that apt-get and dpkg are here.
	Apt  bool
	Root bool
	// Programs maps each needed program to its path, "" if it is missing.
	Programs map[string]string
	// Files says which patterns of files were found.
	Files map[string]bool
	Users map[string]bool
	// SlurmVersion is slurmctld's, such as "22.05.8".
	SlurmVersion string
	// Namespaces and Overlay are trials.
	Namespaces, Overlay Trial
	// Fuse is how /dev/fuse is.
	Fuse Fuse
	// Limits are the kernel's settings on namespaces, by name.
	Limits map[string]string
	Cores  int
	// Memory that is free for programs, and space free on the disk of StateDir,
	// in bytes.
	FreeMemory, FreeDisk int64
	StateDir             string
	// Running and Enabled are services of the kind we install that run, or that
	// start with the machine.
	Running, Enabled []string
	// Unfinished says that an installation of packages was cut off, Half which
	// of the packages that we need it left half installed.
	Unfinished bool
	Half       []string
	// Known are the missing packages that the package lists have. ListsAge is
	// how old these are, 0 if unknown.
	Known    map[string]bool
	ListsAge time.Duration
	// Blind maps what could not be looked at to the reason.
	Blind map[string]string
}

// Release is the operating system, from os-release.
type Release struct {
	ID, Name string
	Like     []string
}

// Fuse is /dev/fuse: whether there is one, and whether this user and every other
// may open it. Every user who runs containers has to be able to.
type Fuse struct{ Present, Mine, Everyones bool }

// Trial is whether something worked when it was tried.
type Trial struct {
	Worked bool
	// Said is what the trial said where it did not work.
	Said string
}
