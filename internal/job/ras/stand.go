package ras

import (
	"maps"
	"slices"
)

// Stand is what two reports of one job say together.
type Stand struct {
	// Known says that the reports can be compared: they name what ranks have begun.
	Known bool
	// Frozen says that no rank has begun anything between them.
	Frozen bool
	// Behind are ranks that have begun less than others of their communicator.
	Behind []Process
	// Silent and Dead are those of the newer report.
	Silent, Dead []Process
}

// Frozen compares a report with an older one. A rank that is behind others is normal while a job
// comes on: only where nothing moves does it matter. Where all have begun the same, and nothing
// moves, a GPU may stand still in the operation, and no report says whose.
func Frozen(previous, now Report) Stand {
	s := Stand{Silent: now.Silent, Dead: now.Dead}
	switch {
	case len(now.Comms) > 0 && len(previous.Comms) > 0:
		s.Known, s.Frozen = true, still(previous.Comms, now.Comms)
		s.Behind = behind(now.Comms)
	case len(now.Notes) > 0 && len(previous.Notes) > 0:
		s.Known, s.Frozen = stillNotes(previous.Notes, now.Notes)
		for _, n := range now.Notes {
			for _, o := range n.Odd {
				if n.Kind == "MISMATCH" && o.Launched < n.Most && o.Status == "" {
					s.Behind = append(s.Behind, o.Process)
				}
			}
		}
	}
	return s
}

type commKey struct {
	hash, second string
	size         int
}

type rankKey struct {
	commKey
	rank int
}

// still tells whether all ranks that are in both reports have begun the same, and no communicator is new.
func still(previous, now []Comm) bool {
	before := map[rankKey]map[string]uint64{}
	comms := map[commKey]bool{}
	for _, c := range previous {
		key := commKey{c.Hash, c.Second, c.Size}
		comms[key] = true
		for _, r := range c.Ranks {
			before[rankKey{key, r.Rank}] = r.Launched
		}
	}
	compared := 0
	for _, c := range now {
		key := commKey{c.Hash, c.Second, c.Size}
		if !comms[key] {
			return false
		}
		for _, r := range c.Ranks {
			old, ok := before[rankKey{key, r.Rank}]
			if !ok {
				return false // it answers again
			}
			if !maps.Equal(old, r.Launched) {
				return false
			}
			compared++
		}
	}
	return compared > 0
}

// behind are the ranks that have begun less of something than another of their communicator.
func behind(comms []Comm) []Process {
	var all []Process
	for _, c := range comms {
		most := map[string]uint64{}
		for _, r := range c.Ranks {
			for operation, n := range r.Launched {
				most[operation] = max(most[operation], n)
			}
		}
		for _, r := range c.Ranks {
			less := false
			for operation, n := range most {
				less = less || r.Launched[operation] < n
			}
			same := func(p Process) bool { return p.Host == r.Host && p.PID == r.PID }
			if less && !slices.ContainsFunc(all, same) {
				all = append(all, r.Process)
			}
		}
	}
	return all
}

// stillNotes compares what two texts say of communicators whose ranks differ. Of others, texts
// tell no counts.
func stillNotes(previous, now []Note) (known, frozen bool) {
	frozen = true
	for _, n := range now {
		if n.Kind != "MISMATCH" || n.Many == 0 {
			continue
		}
		i := slices.IndexFunc(previous, func(p Note) bool { return p.Hash == n.Hash && p.Operation == n.Operation && p.Kind == n.Kind })
		known = true
		if i < 0 || previous[i].Most != n.Most || previous[i].Many != n.Many || !slices.Equal(previous[i].Odd, n.Odd) {
			frozen = false
		}
	}
	return known, known && frozen
}
