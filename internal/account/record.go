package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Record is what muster did to a cluster's accounts. Without it nothing is taken away: Slurm does not
// know who made what.
type Record struct {
	QOS      map[string]Made `json:"qos,omitempty"`
	Accounts map[string]Made `json:"accounts,omitempty"`
	// Users are those that were put into an account, by account.
	Users map[string][]string `json:"users,omitempty"`
	// Begun is a change that was begun, and whose end is not known: slurmdbd knows whether it was made.
	Begun *Begun `json:"begun,omitempty"`
}

// Begun is what has to be known of a change that was begun.
type Begun struct {
	Verb Verb              `json:"verb"`
	Kind Kind              `json:"kind"`
	Name string            `json:"name"`
	Of   string            `json:"of,omitempty"`
	Set  map[string]string `json:"set,omitempty"`
}

// Made is a QoS or an account.
type Made struct {
	// Added says that it was not there before.
	Added bool `json:"added,omitempty"`
	// Set are the values that it was given, in their one form.
	Set map[string]string `json:"set,omitempty"`
}

// Empty says that nothing was done.
func (r Record) Empty() bool { return len(r.QOS)+len(r.Accounts)+len(r.Users) == 0 }

// Before is the record before a change is made: what dies then or later is judged by what there is.
func (r Record) Before(c Change) Record {
	r.Begun = &Begun{Verb: c.Verb, Kind: c.Kind, Name: c.Name, Of: c.Of, Set: c.Set}
	return r
}

// settled is the record with the change that was begun, if it was made.
func (r Record) settled(h Have) Record {
	b := r.Begun
	r.Begun = nil
	if b == nil || !b.made(index(h)) {
		return r
	}
	return r.After(Change{Verb: b.Verb, Kind: b.Kind, Name: b.Name, Of: b.Of, Set: b.Set})
}

// made tells whether a change was made.
func (b Begun) made(h indexed) bool {
	if b.Kind == User {
		return h.members[membershipKey{b.Of, b.Name}] == (b.Verb == Add)
	}
	all := h.qualities
	if b.Kind == Account {
		all = h.accounts
	}
	values, there := all[b.Name]
	if b.Verb == Delete {
		return !there
	}
	if b.Verb == Add || !there {
		return there
	}
	for key, value := range b.Set {
		has := form(key, values[key])
		if has != value && (value != "" || has != unsetForm(b.Kind, key)) {
			return false
		}
	}
	return true
}

// adopted is the record with what bears this cluster's mark: a head node that was replaced has no record.
func (r Record) adopted(cluster string, h Have) Record {
	marked := func(text string) bool { return form("Description", text) == form("Description", mark(cluster)) }
	take := func(of map[string]Made, name string) map[string]Made {
		made := of[name]
		made.Added = true
		of = maps.Clone(of)
		if of == nil {
			of = map[string]Made{}
		}
		of[name] = made
		return of
	}
	for _, q := range h.QOS {
		if marked(q.Values["Description"]) {
			r.QOS = take(r.QOS, q.Name)
		}
	}
	here := index(h).accounts
	for _, n := range h.Names {
		if _, has := here[n.Name]; has && marked(n.Description) {
			r.Accounts = take(r.Accounts, n.Name)
		}
	}
	return r
}

// mark is the description of what muster makes and the file does not describe: people see by it whose
// it is, and so does muster on other clusters of the same slurmdbd.
func mark(cluster string) string { return "cluster " + cluster + ", made by muster" }

// After is the record after a change.
func (r Record) After(c Change) Record {
	r = Record{QOS: maps.Clone(r.QOS), Accounts: maps.Clone(r.Accounts), Users: maps.Clone(r.Users)}
	if c.Kind == User {
		switch {
		case c.Verb == Add:
			if r.Users == nil {
				r.Users = map[string][]string{}
			}
			r.Users[c.Of] = append(slices.DeleteFunc(slices.Clone(r.Users[c.Of]), func(u string) bool { return u == c.Name }), c.Name)
		case c.Verb == Delete:
			if r.Users[c.Of] = slices.DeleteFunc(slices.Clone(r.Users[c.Of]), func(u string) bool { return u == c.Name }); len(r.Users[c.Of]) == 0 {
				delete(r.Users, c.Of)
			}
		}
		return r
	}
	of := &r.QOS
	if c.Kind == Account {
		of = &r.Accounts
	}
	if c.Verb == Delete {
		delete(*of, c.Name)
		return r
	}
	if *of == nil {
		*of = map[string]Made{}
	}
	m := (*of)[c.Name]
	m.Added, m.Set = m.Added || c.Verb == Add, maps.Clone(m.Set)
	for key, value := range c.Set {
		if m.Set == nil {
			m.Set = map[string]string{}
		}
		if m.Set[key] = value; value == "" {
			delete(m.Set, key)
		}
	}
	(*of)[c.Name] = m
	if !m.Added && len(m.Set) == 0 {
		delete(*of, c.Name)
	}
	return r
}

// Load reads a record. One that is not there is empty.
func Load(path string) (Record, error) {
	var r Record
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read which accounts muster made: %w", err)
	}
	return r, nil
}

// Save writes a record.
func (r Record) Save(path string) error {
	if err := whole.JSON(path, r); err != nil {
		return fmt.Errorf("write which accounts muster made: %w", err)
	}
	return nil
}
