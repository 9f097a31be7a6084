package secret

import (
	"fmt"
	"os"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// What the secrets of all jobs of one user take at the most: nobody fills the head node's disk, or the others' room.
const (
	mostJobs      = 4096
	mostUserBytes = 32 << 20
)

// taken is the room that the secrets of a job take.
type taken struct{ uid, bytes int }

// measure finds what is taken already. What cannot be read is nobody's, and goes with its job.
func (s *Store) measure() error {
	keys, err := s.keys()
	for _, key := range keys {
		if k, err := s.read(key); err == nil {
			if info, err := os.Stat(s.path(key)); err == nil {
				s.room[key] = taken{k.UID, int(info.Size())}
			}
		}
	}
	return err
}

// put writes a file where its user has room for it.
func (s *Store) put(key, uid int, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs, bytes := 1, len(text)
	for other, t := range s.room {
		if t.uid == uid && other != key {
			jobs, bytes = jobs+1, bytes+t.bytes
		}
	}
	switch {
	case jobs > mostJobs:
		return fmt.Errorf("%d jobs of yours have secrets; there can be %d, until some of them are over", jobs-1, mostJobs)
	case bytes > mostUserBytes:
		return fmt.Errorf("the secrets of your jobs would take %d bytes together; they can take %d, until some of the jobs are over", bytes, mostUserBytes)
	}
	if err := whole.Write(s.path(key), text, 0o600); err != nil {
		return err
	}
	s.room[key] = taken{uid, len(text)}
	return nil
}

func (s *Store) remove(key int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.room, key)
	return os.Remove(s.path(key))
}
