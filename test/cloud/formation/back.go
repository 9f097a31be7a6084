package formation

import "context"

func (s *Service) cancelUpdate(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(r.text("StackName"))
	if st == nil {
		return nil, invalid("Stack [%s] does not exist", r.text("StackName"))
	}
	if st.status != "UPDATE_IN_PROGRESS" {
		return nil, invalid("CancelUpdateStack cannot be called from current stack status")
	}
	st.running.cancelled = "User Initiated"
	st.running.cancel()
	return nil, nil
}

func (s *Service) continueRollback(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(r.text("StackName"))
	if st == nil {
		return nil, invalid("Stack [%s] does not exist", r.text("StackName"))
	}
	if st.status != "UPDATE_ROLLBACK_FAILED" {
		return nil, invalid("Stack:%s is in %s state and can not continue rollback.", st.id, st.status)
	}
	st.set(s.clock.Now(), "UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
	skip := r.list("ResourcesToSkip")
	s.start(st, func(ctx context.Context, op *operation) { s.rollbackUpdate(ctx, st, op, skip) })
	return nil, nil
}

// rollbackStack goes back after a failure that was kept:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_RollbackStack.html
func (s *Service) rollbackStack(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(r.text("StackName"))
	if st == nil {
		return nil, invalid("Stack [%s] does not exist", r.text("StackName"))
	}
	st.failure.keepNothing = r.yes("RetainExceptOnCreate")
	switch st.status {
	case "CREATE_FAILED":
		st.set(s.clock.Now(), "ROLLBACK_IN_PROGRESS", "User Initiated")
		s.start(st, func(ctx context.Context, op *operation) { s.rollbackCreation(ctx, st, op) })
	case "UPDATE_FAILED":
		st.set(s.clock.Now(), "UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
		s.start(st, func(ctx context.Context, op *operation) { s.rollbackUpdate(ctx, st, op, nil) })
	default:
		return nil, invalid("Stack:%s is in %s state and can not be rolled back.", st.id, st.status) // our words
	}
	return fields{"StackId": st.id}, nil
}
