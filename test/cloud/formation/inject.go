package formation

import "context"

// Faults are set by stack name and logical ID.
type faults map[[2]string]*harm

// harm is what happens to a resource until Heal.
type harm struct {
	fail, failDelete string
	stuck            bool
}

func (s *Service) harm(stack, logical string, f func(*harm)) {
	s.locked(func() {
		at := [2]string{stack, logical}
		if s.faults[at] == nil {
			s.faults[at] = &harm{}
		}
		f(s.faults[at])
	})
}

// FailResource lets the creation and the update of a resource fail, until Heal.
func (s *Service) FailResource(stack, logicalID, reason string) {
	s.harm(stack, logicalID, func(h *harm) { h.fail = reason })
}

// FailDelete lets the deletion of a resource fail, until Heal.
func (s *Service) FailDelete(stack, logicalID, reason string) {
	s.harm(stack, logicalID, func(h *harm) { h.failDelete = reason })
}

// Stick keeps a resource that is made, changed or deleted in progress, until Heal.
func (s *Service) Stick(stack, logicalID string) {
	s.harm(stack, logicalID, func(h *harm) { h.stuck = true })
}

// Heal ends what FailResource, FailDelete and Stick began.
func (s *Service) Heal(stack, logicalID string) {
	s.locked(func() { delete(s.faults, [2]string{stack, logicalID}) })
}

// hurt is the harm that a resource has now.
func (s *Service) hurt(st *stack, logical string) (h harm) {
	s.locked(func() {
		if p := s.faults[[2]string{st.name, logical}]; p != nil {
			h = *p
		}
	})
	return h
}

// unstuck waits while a resource is stuck.
func (s *Service) unstuck(ctx context.Context, st *stack, logical string) error {
	return s.wait(ctx, func() (bool, error) { return !s.hurt(st, logical).stuck, nil })
}
