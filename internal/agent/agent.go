// Package agent is the daemon of a machine of a cluster on AWS: it boots the machine as
// its ticket says, tells the head node how that went, and keeps its services running.
package agent
