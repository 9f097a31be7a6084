package formation

import "context"

func (s *Service) continueRollback(st *stack, r request) (fields, error) {
	if st.status != "UPDATE_ROLLBACK_FAILED" {
		return nil, invalid("Stack:%s is in %s state and can not continue rollback.", st.id, st.status)
	}
	st.set(s.clock.Now(), "UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
	skip := r.list("ResourcesToSkip")
	s.start(st, func(ctx context.Context, op *operation) { s.rollbackUpdate(ctx, st, op, skip) })
	return nil, nil
}
