package fleet

// Strategy says what is to be done for jobs that cannot have all of their nodes:
// the cluster file's ScalingStrategy.
type Strategy string

// Strategies. The empty one is AllOrNothing.
const (
	AllOrNothing       Strategy = "all-or-nothing"
	GreedyAllOrNothing Strategy = "greedy-all-or-nothing"
	BestEffort         Strategy = "best-effort"
)

// Wish is a job that waits for nodes to be started.
type Wish struct {
	Job   int
	Nodes []string
}
