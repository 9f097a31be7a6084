package store

import (
	"context"
	"iter"
	"sync"
)

const (
	pageKeys    = 1000 // in a page of a list, as S3 has it
	pagesAtOnce = 8
	keysInVain  = 8 * pageKeys // that may come twice before nothing is asked for by guesses any more, and a few in a hundred besides
)

// ListAlong is List by several requests at a time, for who can guess keys, which need not be there. Guesses come in the
// order of keys; it waits for none. Each is where one request ends and another begins, so a page's length apart they
// are best. Where they are not good they are soon left alone: there are few requests more than List has.
func (s *S3) ListAlong(ctx context.Context, prefix string, guesses <-chan string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		a := along{s: s, prefix: prefix, guesses: guesses}
		defer a.group.Wait()
		defer stop()
		a.list(ctx, yield)
	}
}

// along is a list that is made by guesses.
type along struct {
	s       *S3
	prefix  string
	guesses <-chan string
	group   sync.WaitGroup

	asked []asked // pages under way, in order: what one has behind the beginning of the next does not count
	many  bool    // there is more than a page, so that guesses are worth something
	keys  int     // that were yielded
	vain  int     // that came for nothing
	last  string  // key that was yielded
}

// asked is a page that is asked for.
type asked struct {
	after  string
	answer chan leaf
}

// ask asks for what is behind a key.
func (a *along) ask(ctx context.Context, after string, token *string) asked {
	q := asked{after, make(chan leaf, 1)}
	a.group.Go(func() { q.answer <- a.s.page(ctx, a.prefix, after, token) })
	return q
}

func (a *along) list(ctx context.Context, yield func(Object, error) bool) {
	a.asked = []asked{a.ask(ctx, "", nil)}
	for {
		p, after := a.next(ctx)
		if p.err != nil {
			yield(Object{}, p.err)
			return
		}
		if !rising(p.objects, after) {
			a.rest(ctx, yield)
			return
		}
		if p.more {
			a.cut(ctx, &p, after)
		}
		for _, o := range p.objects {
			if a.last = o.Key; !yield(o, nil) {
				return
			}
		}
		if !p.more {
			return
		}
		a.keys += len(p.objects)
		a.many = true
	}
}

// next is the first page that was asked for, and what it is behind. Until it comes, more are asked for.
func (a *along) next(ctx context.Context) (p leaf, after string) {
	for {
		var guesses <-chan string
		if a.many && len(a.asked) < pagesAtOnce && a.vain <= keysInVain+a.keys/16 {
			guesses = a.guesses
		}
		select {
		case key := <-guesses:
			if key > a.asked[len(a.asked)-1].after {
				a.asked = append(a.asked, a.ask(ctx, key, nil))
			}
		case p = <-a.asked[0].answer:
			after, a.asked = a.asked[0].after, a.asked[1:]
			return p, after
		}
	}
}

// cut takes off what the next page has, too. If that one begins later than this one ends, the page that follows is asked for.
func (a *along) cut(ctx context.Context, p *leaf, after string) {
	if n := len(p.objects); n > 0 {
		after = p.objects[n-1].Key
	}
	for len(a.asked) > 1 && a.asked[1].after <= after {
		a.asked, a.vain = a.asked[1:], a.vain+pageKeys // all of it is here
	}
	if len(a.asked) == 0 || a.asked[0].after > after {
		a.asked = append([]asked{a.ask(ctx, after, p.token)}, a.asked...)
		return
	}
	for n := len(p.objects); n > 0 && p.objects[n-1].Key > a.asked[0].after; n-- {
		p.objects = p.objects[:n-1]
		a.vain++
	}
}

// rest lists what is left as List does, where a place does not begin behind a key, or has an order of its own.
func (a *along) rest(ctx context.Context, yield func(Object, error) bool) {
	passed := a.last == ""
	for o, err := range a.s.List(ctx, a.prefix) {
		if err == nil && !passed {
			if passed = o.Key >= a.last; o.Key <= a.last {
				continue
			}
		}
		if !yield(o, err) {
			return
		}
	}
}

// rising says that objects are in the order of their keys, all behind this one.
func rising(objects []Object, after string) bool {
	for _, o := range objects {
		if o.Key <= after {
			return false
		}
		after = o.Key
	}
	return true
}
