package lint

import (
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// IAM's limits for paths and ParallelCluster's for the prefix of names.
const (
	maxIAMPath   = 512
	maxIAMPrefix = 30
)

// iamPrefix is a path such as /team/hpc/, or the beginning of a name, or both.
var iamPrefix = pattern.New(`^(/[a-zA-Z0-9_.,+@=-]+)+/|^[a-zA-Z0-9_.,+@=-]+$`)

// resourcePrefix holds ParallelCluster's IamResourcePrefixValidator.
func resourcePrefix(v spec.View) {
	if !filled(v) {
		return
	}
	text := v.Text()
	cut := strings.LastIndex(text, "/") + 1
	path, name := text[:cut], text[cut:]
	switch {
	case !iamPrefix().MatchString(text):
		v.Errorf("iam/prefix", "%s is neither a path of IAM nor the beginning of a name", quoted(text)).
			WithHint("write a path such as /hpc/, the beginning of a name such as hpc-, or both: /hpc/training-")
	case len(name) > maxIAMPrefix:
		v.Errorf("iam/prefix", "the beginning of names, %s, has %d characters", quoted(name), len(name)).
			WithHint("ParallelCluster allows %d", maxIAMPrefix)
	case len(path) > maxIAMPath:
		v.Errorf("iam/prefix", "the path has %d characters", len(path)).WithHint("IAM allows %d", maxIAMPath)
	}
}
