package nodes

import (
	"time"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/verify/burnin"
)

// burnInDir is a node's burnin.Dir on the host.
func (l *Layout) burnInDir(name string) string { return l.Path("nodes", name, "burn-in") }

// life is one life of a node.
type life struct {
	id    string
	began time.Time
}

// readProofs adds to instances what came of their burn-ins.
func (f *Fleet) readProofs(all []provider.Instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.proofs
	f.proofs = map[life]*provider.Proof{}
	for i := range all {
		of := life{all[i].ID, all[i].Started}
		p := known[of]
		if p == nil {
			p = f.layout.proof(all[i].Node)
		}
		if all[i].Proof = p; p != nil {
			f.proofs[of] = p
		}
	}
}

// proof is what came of a node's burn-in, nil if there is none, or nothing yet.
func (l *Layout) proof(node string) *provider.Proof {
	fitness, err := burnin.ReadFitness(l.burnInDir(node))
	if err != nil {
		return nil // it comes whole, or not at all
	}
	p := provider.Proof{Unfit: fitness.Unfit, Said: fitness.Line(), Blind: fitness.Blind, Evidence: fitness.Evidence}
	if p.Unfit != "" {
		p.Report, _ = burnin.ReadReport(l.burnInDir(node)) // without it, it is as unfit
	}
	if p.Blind != "" {
		p.Blind = "burn-in: " + p.Blind
	}
	return &p
}
