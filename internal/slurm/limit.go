package slurm

import (
	"context"
	"fmt"
	"time"
)

// answerWait is how long Slurm's programs may take to answer a question.
const answerWait = 5 * time.Second

// Limited bounds a question to Slurm.
func Limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, answerWait, fmt.Errorf("no answer within %s", answerWait))
}
