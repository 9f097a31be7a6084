// Package meter reads what measuring programs print: nccl-tests, IOR, mdtest, fio, fi_info, nvidia-smi, DCGM and NCCL itself, in all
// forms of their versions. It never panics, and says of what it cannot read that it cannot.
package meter
