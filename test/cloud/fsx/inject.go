package fsx

// fault is what happens to the next resource of a kind.
type fault struct{ kind, state, why string }

// harm takes the next fault for a kind. Service.mu is held.
func (s *Service) harm(kind string) *fault {
	for i, x := range s.faults {
		if x.kind == kind {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			return &x
		}
	}
	return nil
}

func (s *Service) next(kind, state, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fault{kind, state, why})
}

// FailSystem lets the next file system end up in a state other than AVAILABLE, such
// as FAILED or MISCONFIGURED.
func (s *Service) FailSystem(state, why string) { s.next("file-system", state, why) }

// FailTask lets the next data repository task fail for one file.
func (s *Service) FailTask(why string) { s.next("task", "FAILED", why) }

// Limit is the most file systems that there may be; 0 is no limit.
func (s *Service) Limit(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = most
}

// SetState puts a file system into a state at once, such as MISCONFIGURED.
func (s *Service) SetState(id, state, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.systems.find(id)
	if err == nil {
		f.life.become(s.clock.Now(), state, state, 0)
		f.life.why = why
	}
	return err
}
