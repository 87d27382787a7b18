// The torture's clients, and the facts that they check.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// megabyte is a value of that size.
var megabyte = strings.Repeat("0123456789abcdef", 1<<16)

// fact is a triple known to the clients. Facts share their terms, because one
// answer then covers many; some have long terms, one has a megabyte, and some are in named
// graphs.
func fact(i int) triple.Triple {
	t := triple.Triple{
		Subject:   triple.NewIRI(fmt.Sprintf("http://e.x/s%d", i%19)),
		Predicate: triple.NewIRI(fmt.Sprintf("http://e.x/p%d", i%7)),
		Object:    triple.NewTyped(fmt.Sprint(i%23), triple.XSDInteger),
	}
	if i < 30 && i%3 == 0 { // clients write all triples of these subjects
		t.Subject = triple.NewIRI(fmt.Sprintf("http://e.x/m%d", i%2))
	}
	if i%11 == 0 {
		t.Object = triple.NewTyped(strings.Repeat(fmt.Sprintf("long %d ", i%23), 200), triple.XSDString)
	}
	if i == 7 {
		t.Object = triple.NewTyped(megabyte, triple.XSDString)
	}
	if i%5 == 0 {
		t.Graph = triple.NewIRI(fmt.Sprintf("http://e.x/g%d", i%3))
	}
	return t
}

// universe is the triples that clients know: the first so many are written to, the
// others are there from the beginning to the end, or come with bulk loads: those of
// each load follow one another.
type universe struct {
	moving, all, loads int
	begun              atomic.Int64              // of the loads
	keys               [triple.GSPO + 1][][]byte // by order; nil where there is none
	number             map[string]int            // by SPO key
}

func newUniverse(moving, all, loads int) *universe {
	u := &universe{moving: moving, all: all, loads: loads, number: map[string]int{}}
	for i := range u.extent() {
		for _, o := range triple.Orders {
			key, _ := triple.AppendKey(nil, o, fact(i))
			u.keys[o] = append(u.keys[o], key)
		}
		u.number[string(u.keys[triple.SPO][i])] = i
	}
	if len(u.number) != u.extent() {
		panic("facts are not different")
	}
	return u
}

func (u *universe) extent() int { return u.all + u.loads*loadTriples }

// register is the number of a load in histories.
func (u *universe) register(load int) int { return u.extent() + load }

// name is what a register of histories is called in messages.
func (u *universe) name(i int) string {
	if i >= u.extent() {
		return fmt.Sprintf("load %d", i-u.extent())
	}
	return fmt.Sprintf("triple %d (%s)", i, fact(i))
}

// client does one operation after the other, each through some machine.
type client struct {
	torture *torture
	name    string
	random  *rand.Rand
}

func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		p := c.torture.anyProcess(c.random)
		if p != nil {
			timed, cancel := context.WithTimeout(ctx, time.Duration(200+c.random.IntN(8000))*time.Millisecond)
			switch c.random.IntN(12) {
			case 11:
				c.deleteMatch(timed, p)
			case 10:
				c.update(timed, p)
			case 0, 1, 2, 3:
				c.write(timed, p)
			case 4, 5:
				c.match(timed, p)
			case 6:
				c.scan(timed, p)
			case 7:
				c.count(timed, p)
			case 8:
				c.note(timed, p)
			case 9:
				c.look(timed, p)
			}
			cancel()
		}
		time.Sleep(time.Duration(c.random.IntN(60)) * time.Millisecond)
	}
}

// write adds or deletes some triples.
func (c *client) write(ctx context.Context, p *process) {
	n, _ := p.running()
	if n == nil {
		return
	}
	var which []int
	var ts []triple.Triple
	for range 1 + c.random.IntN(3)*c.random.IntN(3) {
		i := c.random.IntN(c.torture.universe.moving)
		if !c.torture.history.doubtful(i) {
			which, ts = append(which, i), append(ts, fact(i))
		}
	}
	if len(ts) == 0 {
		return
	}
	adds := c.random.IntN(2) == 0
	p.await()
	call := c.torture.history.tick()
	var err error
	var done int64
	if adds {
		var r store.Result
		r, err = store.Add(ctx, n, ts)
		done = r.Added + r.Existing
	} else {
		var r store.Result
		r, err = store.Delete(ctx, n, ts)
		done = r.Deleted + r.Missing
	}
	p.await() // its answer waits as well
	dead := p.dead.Load()
	known := err == nil && !dead
	if !known && !dead && !errors.Is(err, store.ErrUnknown) && done == 0 {
		c.torture.saw(err)
		c.torture.answered(aWrite, false)
		return // nothing was done
	}
	of := fmt.Sprintf("%s through %s: %v", c.name, p.host.name, err)
	for _, i := range which {
		c.torture.history.wrote(i, adds, call, known, of)
	}
	c.torture.answered(aWrite, known)
	if err == nil && done != int64(len(ts)) && !dead {
		c.torture.fail("%d of %d triples are written, and no error", done, len(ts))
	}
	if err != nil {
		c.torture.saw(err)
	}
}

// match reads a pattern: some terms of a triple are bound.
func (c *client) match(ctx context.Context, p *process) {
	t := fact(c.random.IntN(c.torture.universe.all))
	var pattern triple.Pattern
	if c.random.IntN(2) == 0 {
		pattern.Subject = t.Subject
	}
	if c.random.IntN(2) == 0 {
		pattern.Predicate = t.Predicate
	}
	if c.random.IntN(2) == 0 {
		pattern.Object = t.Object
	}
	if c.random.IntN(4) == 0 {
		pattern.Graph = t.Graph
	}
	n, _ := p.running()
	if n == nil {
		return
	}
	call := c.torture.history.tick()
	sn, err := n.Reader()
	if err != nil {
		c.torture.saw(err)
		return
	}
	defer sn.Close()
	a := c.read(sn.Match(ctx, pattern, store.ReadOptions{}), call, p)
	c.observe(p, a, pattern.Best(), call, fmt.Sprintf("match %v", pattern), func(i int) bool { return a.err == nil && pattern.Match(fact(i)) })
}

// scan reads all of an order, page by page, each through another machine.
func (c *client) scan(ctx context.Context, p *process) {
	o := triple.Orders[c.random.IntN(len(triple.Orders))]
	limit := int64(1 + c.random.IntN(c.torture.universe.all))
	var after []byte
	for p != nil {
		n, _ := p.running()
		if n == nil {
			return
		}
		call := c.torture.history.tick()
		sn, err := n.Reader()
		if err != nil {
			c.torture.saw(err)
			return
		}
		a := c.read(sn.Range(ctx, triple.Bounds{Order: o}, store.ReadOptions{Limit: limit, After: after}), call, p)
		sn.Close()
		covers := func(i int) bool {
			key := c.torture.universe.keys[o][i]
			if o == triple.GSPO && fact(i).Graph.IsZero() || bytes.Compare(key, after) <= 0 {
				return false
			}
			if a.err == nil && int64(len(a.rows)) < limit {
				return true
			}
			return len(a.rows) > 0 && bytes.Compare(key, a.rows[len(a.rows)-1].key) <= 0
		}
		c.observe(p, a, o, call, fmt.Sprintf("range of %s, %d after %q", o, limit, after), covers)
		if a.err != nil || int64(len(a.rows)) < limit {
			return
		}
		after = a.rows[len(a.rows)-1].key
		p = c.torture.anyProcess(c.random)
	}
}

// answer is what came of a read.
type answer struct {
	rows []seen
	back int64
	err  error
}

type seen struct {
	key []byte
	at  int64
}

func (c *client) read(rows iter.Seq2[store.Row, error], call int64, p *process) (a answer) {
	for row, err := range rows {
		p.await()
		if err != nil {
			a.err = err
			break
		}
		a.rows = append(a.rows, seen{bytes.Clone(row.Key), c.torture.history.tick()})
	}
	p.await()
	a.back = c.torture.history.tick()
	if p.dead.Load() { // its answers reach nobody
		return answer{err: store.ErrClosed, back: a.back}
	}
	return a
}

// observe notes what an answer says of the triples that it covers, and checks that
// what is there throughout comes once, in order, and nothing that never was.
func (c *client) observe(p *process, a answer, o triple.Order, call int64, what string, covers func(i int) bool) {
	t, u := c.torture, c.torture.universe
	of := fmt.Sprintf("%s through %s: %s: %v", c.name, p.host.name, what, a.err)
	found := map[int]bool{}
	for n, row := range a.rows {
		spo, _, err := recovery.AppendVersion(nil, triple.SPO, row.key)
		i, ok := u.number[string(spo)]
		switch {
		case err != nil || !ok:
			t.fail("%s: a row that nobody wrote: %q", of, row.key)
			return
		case found[i]:
			t.fail("%s: triple %d comes twice", of, i)
		case n > 0 && bytes.Compare(a.rows[n-1].key, row.key) >= 0:
			t.fail("%s: the rows are not in order", of)
		case a.err == nil && !covers(i):
			t.fail("%s: triple %d was not asked for", of, i)
		}
		found[i] = true
		if i < u.moving {
			t.history.saw(i, true, call, row.at, of)
		}
	}
	for i := range u.all {
		if found[i] || !covers(i) {
			continue
		}
		if i >= u.moving {
			t.fail("%s: short: triple %d is missing, of %d rows", of, i, len(a.rows))
			return
		}
		t.history.saw(i, false, call, a.back, of)
	}
	for k := range u.loads {
		there, absent := 0, 0
		for i := u.all + k*loadTriples; i < u.all+(k+1)*loadTriples; i++ {
			if found[i] {
				there++
			} else if covers(i) {
				absent++
			}
		}
		if there > 0 && absent > 0 {
			t.fail("%s: %d of %d triples of load %d", of, there, there+absent, k)
		}
		if there+absent > 0 {
			t.history.saw(u.register(k), there > 0, call, a.back, of)
		}
	}
	t.history.mu.Lock()
	t.history.answers++
	t.history.mu.Unlock()
	t.answered(aRead, a.err == nil)
	if a.err != nil {
		t.saw(a.err)
	}
}

// count counts what matches a predicate: never less than what is there throughout.
func (c *client) count(ctx context.Context, p *process) {
	n, _ := p.running()
	if n == nil {
		return
	}
	pattern := triple.Pattern{}
	if i := c.random.IntN(c.torture.universe.all); i%2 == 0 {
		pattern.Predicate = fact(i).Predicate
	}
	sn, err := n.Reader()
	if err != nil {
		c.torture.saw(err)
		return
	}
	defer sn.Close()
	got, err := sn.Count(ctx, pattern)
	if err != nil {
		c.torture.saw(err)
		return
	}
	least, most := int64(0), int64(0)
	for i := range c.torture.universe.all + int(c.torture.universe.begun.Load())*loadTriples {
		if pattern.Match(fact(i)) {
			most++
			if i >= c.torture.universe.moving && i < c.torture.universe.all {
				least++
			}
		}
	}
	if !p.dead.Load() && (got < least || got > most) {
		c.torture.fail("%s counts %d of %v, not between %d and %d", p.host.name, got, pattern, least, most)
	}
}
