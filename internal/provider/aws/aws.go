// Package aws runs nodes on EC2. It starts instances in few calls and remembers what
// it was about to do, so that a crash at any line neither loses nor doubles a
// machine; it says in classes why a machine was refused; it ends machines at once.
package aws
