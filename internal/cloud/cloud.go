// Package cloud brings clusters on AWS up, changes them and takes them down, in named
// steps that may each be repeated: after a crash the same call goes on.
package cloud
