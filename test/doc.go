// Package test tries the whole product on real Slurm.
package test
