package store

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// Hurry has nothing waited for but for a moment.
func (s *S3) Hurry() {
	s.patience.first, s.patience.most = time.Millisecond, time.Millisecond
	s.patience.Standard = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = s.patience.attempts, time.Millisecond })
}

// Doubt has a place that never answered waited for no longer than this.
func (s *S3) Doubt(d time.Duration) { s.patience.strange = d }

// Divide has contents divided as if these were S3's limits.
func (s *S3) Divide(whole, part, parts int64) { s.limits = limits{whole, part, parts} }

// Held is how much memory uploads have.
func (s *S3) Held() int64 {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return s.memory.mapped
}
