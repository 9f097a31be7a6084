package headnode

import (
	"context"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/aws/agent"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// keysOf gives the machine's munge key to the cluster's login nodes, too.
func keysOf(cloud *api.Account, cluster string) join.Keys {
	return join.Keys{
		Key:    func() ([]byte, error) { return os.ReadFile(agent.MungeKeyFile) },
		Member: (&logins{account: cloud, cluster: cluster}).has,
	}
}

// logins are the addresses of a cluster's login nodes.
type logins struct {
	account *api.Account
	cluster string

	mu     sync.Mutex // guards what follows; one at a time asks EC2
	looked time.Time
	known  map[netip.Addr]bool
}

// loginsEvery is how often EC2 is asked for them at most, however often we are asked.
const loginsEvery = 5 * time.Second

func (l *logins) has(ctx context.Context, address netip.Addr) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[address] && time.Since(l.looked) < time.Minute || time.Since(l.looked) < loginsEvery {
		return l.known[address], nil
	}
	l.looked = time.Now()
	all, err := l.account.OfRole(ctx, l.cluster, manifest.RoleLogin)
	if err != nil {
		return false, err
	}
	l.known = map[netip.Addr]bool{}
	for _, i := range all {
		if a, err := netip.ParseAddr(i.Address); err == nil && !i.Gone() {
			l.known[a] = true
		}
	}
	return l.known[address], nil
}
