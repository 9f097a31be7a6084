package walk

import "syscall"

func self(s *syscall.Stat_t) Self {
	return Self{Device: uint64(s.Dev), Inode: s.Ino, Change: s.Ctimespec.Nano()}
}
