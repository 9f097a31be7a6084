// Package boot makes a machine of AWS one of the cluster: disks, mounts, users, custom
// actions, services. Every step may be repeated, and says what it found or did.
package boot
