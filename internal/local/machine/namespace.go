package machine

import (
	"os"
	"strings"
	"sync"
)

// initialUserNamespace tells whether the process is in the machine's first user
// namespace, where root is really root.
var initialUserNamespace = sync.OnceValue(func() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && len(strings.Fields(string(ids))) == 3 && strings.Fields(string(ids))[2] == "4294967295"
})
