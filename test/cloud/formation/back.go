package formation

import "context"

func (s *Service) cancelUpdate(st *stack, r request) (fields, error) {
	if st.status != "UPDATE_IN_PROGRESS" {
		return nil, invalid("CancelUpdateStack cannot be called from current stack status")
	}
	st.running.cancelled = "User Initiated"
	st.running.cancel()
	return nil, nil
}

func (s *Service) continueRollback(st *stack, r request) (fields, error) {
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
func (s *Service) rollbackStack(st *stack, r request) (fields, error) {
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
