// Lists of links replaced by several clients at once.

package cluster

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
)

// replacement is one of a page's list. What it was, and when, is by the counter of all.
type replacement struct {
	targets      []string // ascending
	begun, ended int
	err          error
}

// replacing is what clients do who replace the same few lists at the same time.
type replacing struct {
	*web
	history struct {
		sync.Mutex
		now int
		of  map[string][]*replacement // by page
	}
	beside map[string]bool // pages that were changed beside, guarded by history
	failed atomic.Int64
}

const replacedPages = 3

func newReplacing(web *web) *replacing {
	r := &replacing{web: web, beside: map[string]bool{}}
	r.history.of = map[string][]*replacement{}
	return r
}

func replacedPage(i int) string { return fmt.Sprintf("http://www%d.example.org/%d", i%6, i%12) }

// replace replaces the lists of one page or some by one call, which changes another page
// beside them, and tells what the lists are then.
func (r *replacing) replace(ctx context.Context, g *linkgraph.Graph, random *rand.Rand, name string) {
	changes := []links.Change{{Source: "http://www5.example.org/" + name, Targets: []string{replacedPage(0)}}}
	made := map[string]*replacement{}
	for range 1 + random.IntN(replacedPages) {
		page := replacedPage(random.IntN(replacedPages))
		c := links.Change{Kind: links.ReplaceLinks, Source: page}
		for i := range 12 {
			if random.IntN(2) == 0 {
				c.Targets = append(c.Targets, replacedPage(i))
			}
		}
		// What is changed of a page by the same call comes in its order.
		changes = append(changes, links.Change{Kind: links.AddLinks, Source: page, Targets: []string{replacedPage(3)}}, c)
		slices.Sort(c.Targets)
		made[page] = &replacement{targets: c.Targets}
	}
	r.note(made, true, nil)
	r.history.Lock()
	r.beside[changes[0].Source] = true
	r.history.Unlock()
	_, err := g.Update(ctx, changes)
	if r.note(made, false, err); err != nil {
		time.Sleep(100 * time.Millisecond) // of virtual time
	}
}

// note notes that replacements begin, or how they ended.
func (r *replacing) note(made map[string]*replacement, begin bool, err error) {
	h := &r.history
	h.Lock()
	defer h.Unlock()
	h.now++
	for page, one := range made {
		if begin {
			one.begun = h.now
			h.of[page] = append(h.of[page], one)
			continue
		}
		if one.ended, one.err = h.now, err; err != nil {
			if r.failed.Add(1) < 10 {
				r.t.Logf("%s: %v", page, err)
			}
		}
	}
}

// clients has some clients of each of some machines replace lists until enough is true,
// and each once at least.
func (r *replacing) clients(machines []*machine, each int, enough func() bool) *sync.WaitGroup {
	var all sync.WaitGroup
	for _, m := range machines {
		g := r.graphs[m]
		for i := range each {
			random := rand.New(rand.NewPCG(r.random.Uint64(), 0))
			name := fmt.Sprintf("%s-%d", m.name, i)
			all.Go(func() {
				for again := true; again; again = !enough() {
					r.replace(r.t.Context(), g, random, name)
				}
			})
		}
	}
	return &all
}

// allReplaced reports whether every page's list was replaced since ended was called.
func (r *replacing) allReplaced() bool {
	r.history.Lock()
	defer r.history.Unlock()
	return len(r.history.of) == replacedPages
}

// ended has all machines tell the lists of all pages when nobody replaces any, and compares
// them with the last replacements.
func (r *replacing) ended() {
	r.t.Helper()
	for page, all := range r.history.of {
		r.links[page] = nil
		for _, m := range r.up() {
			if r.graphs[m] == nil {
				continue
			}
			list := r.list(r.graphs[m], page)
			last := lastOf(all)
			if !slices.ContainsFunc(last, func(one *replacement) bool { return slices.Equal(one.targets, list) }) {
				var lists []string
				for _, one := range all {
					lists = append(lists, fmt.Sprint(one.begun, " to ", one.ended, ": ", one.targets, " ", slices.Contains(last, one), " ", one.err))
				}
				r.t.Errorf("%s tells of %s the list %v, which is none of the last ones of\n%s", m.name, page, list, strings.Join(lists, "\n"))
			}
			ought := map[string]cell.Label{}
			for _, target := range list {
				ought[target] = cell.NoLabel
			}
			if before := r.links[page]; before != nil && !maps.Equal(before, ought) {
				r.t.Errorf("%s tells of %s the list %v; it was %v", m.name, page, list, slices.Sorted(maps.Keys(before)))
			}
			r.links[page] = ought
		}
	}
	clear(r.history.of)
}

// list returns the targets of a page's links, ascending.
func (r *replacing) list(g *linkgraph.Graph, page string) []string {
	r.t.Helper()
	ctx := r.t.Context()
	uids, err := g.UIDs(ctx, []string{page})
	require.NoError(r.t, err)
	l, err := g.Links(ctx, links.Forward, uids)
	require.NoError(r.t, err)
	list, err := g.URLs(ctx, l.Items)
	require.NoError(r.t, err)
	slices.Sort(list)
	return list
}

// lastOf returns those replacements after whose end none began that was acknowledged.
func lastOf(all []*replacement) (last []*replacement) {
	for _, one := range all {
		if !slices.ContainsFunc(all, func(other *replacement) bool { return other.err == nil && other.begun > one.ended }) {
			last = append(last, one)
		}
	}
	return last
}

// TestLinksReplacedAtOnce has clients of all machines replace the same pages' lists at the
// same time: by themselves, while a machine joins and ranges move, and while one is lost.
// Each page has the list of one of the last replacements then, and what one client alone
// replaces is seen by all at once.
func TestLinksReplacedAtOnce(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		r := newReplacing(newWeb(w))
		w.form()
		r.open()
		defer r.end()
		w.net.Delay(0, 20*time.Millisecond)
		var calls atomic.Int64
		some := func(n int64) func() bool { return func() bool { return calls.Add(1) >= n } }

		r.clients(w.up(), 2, some(40)).Wait()
		r.ended()
		for range 5 {
			r.clients([]*machine{w.any()}, 1, some(0)).Wait()
			r.ended()
		}

		joined := make(chan struct{})
		all := r.clients(w.up(), 1, func() bool { return closed(joined) })
		w.add().run(w.up()[0])
		r.open()
		w.settle()
		close(joined)
		all.Wait()
		r.ended()
		if n := r.failed.Load(); n > 0 {
			t.Errorf("%d replacements failed while nothing was lost", n)
		}

		victim := w.any()
		g := r.graphs[victim]
		delete(r.graphs, victim)
		excluded := make(chan struct{})
		others := slices.DeleteFunc(w.up(), func(m *machine) bool { return m == victim })
		all = r.clients(others, 1, func() bool { return closed(excluded) })
		victim.kill()
		defer g.Close()
		w.settle()
		close(excluded)
		all.Wait()
		if n := r.failed.Load(); n > 0 { // nobody knows what of them was done
			t.Logf("%d replacements failed", n)
			clear(r.history.of)
		}
		r.clients(w.up(), 2, r.allReplaced).Wait()
		r.ended()
		for page := range r.beside {
			r.apply(links.Change{Source: page, Targets: []string{replacedPage(0)}})
		}
		for _, m := range w.up() {
			r.check(r.graphs[m])
		}
	})
}

// closed reports whether a channel is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
