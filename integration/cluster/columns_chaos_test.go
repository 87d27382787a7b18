// Queries over the columns of a cluster, by several clients that write, while machines are lost and cut off.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// columnChaos is a cluster with clients of which each has its own subjects.
type columnChaos struct {
	w     *world
	mu    sync.Mutex
	nodes []*cluster.Node // that run
	stats struct{ columns, rows, failed int }
}

// set makes the machines that run those of the clients.
func (c *columnChaos) set() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = nil
	for _, m := range c.w.up() {
		c.nodes = append(c.nodes, m.node)
	}
}

// node returns one of them.
func (c *columnChaos) node(random *rand.Rand) *cluster.Node {
	for {
		c.mu.Lock()
		if len(c.nodes) > 0 {
			n := c.nodes[random.IntN(len(c.nodes))]
			c.mu.Unlock()
			return n
		}
		c.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

// columnClient is a client with its model: the triples of its subjects.
type columnClient struct {
	*columnChaos
	id     int
	random *rand.Rand
	have   map[triple.Triple]bool
}

func (c *columnClient) subject(i int) triple.Term {
	return triple.NewIRI(fmt.Sprintf("http://c%d/%02d", c.id, i))
}

// one returns a triple of the client.
func (c *columnClient) one() triple.Triple {
	t := triple.Triple{Subject: c.subject(c.random.IntN(8))}
	switch c.random.IntN(8) {
	case 0, 1, 2:
		t.Predicate, t.Object = triple.NewIRI("http://knows"), c.subject(c.random.IntN(8))
	case 3, 4:
		t.Predicate, t.Object = triple.NewIRI("http://age"), triple.NewTyped(fmt.Sprint(c.random.IntN(50)), triple.XSDInteger)
	case 5:
		t.Predicate, t.Object = triple.NewIRI("http://note"), triple.NewString(strings.Repeat(fmt.Sprintf("text %d ", c.random.IntN(3)), 300))
	case 6:
		t.Predicate, t.Object = triple.NewIRI(fmt.Sprintf("http://own%d", c.id)), c.subject(c.random.IntN(8))
	case 7:
		t.Predicate, t.Object, t.Graph = triple.NewIRI("http://knows"), c.subject(c.random.IntN(8)), triple.NewIRI("http://graph")
	}
	return t
}

// change changes some triples. It returns false at the end of ctx.
func (c *columnClient) change(ctx context.Context) bool {
	var ts []triple.Triple
	for range 1 + c.random.IntN(3) {
		ts = append(ts, c.one())
	}
	add := c.random.IntN(5) < 3
	var match *triple.Pattern
	if !add && c.random.IntN(4) == 0 {
		t := ts[0]
		match = &triple.Pattern{Subject: t.Subject, Predicate: t.Predicate}
	}
	n := c.node(c.random)
	try, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var err error
	switch {
	case add:
		_, err = store.Add(try, n, ts)
	case match != nil:
		_, err = store.DeleteMatch(try, n, *match)
	default:
		_, err = store.Delete(try, n, ts)
	}
	if err != nil {
		// It may still be done at any later time, so nothing is known of these subjects any more.
		c.id += 100
		c.have = map[triple.Triple]bool{}
		time.Sleep(20 * time.Millisecond)
		return ctx.Err() == nil
	}
	switch {
	case match != nil:
		for t := range c.have {
			if t.Subject == match.Subject && t.Predicate == match.Predicate {
				delete(c.have, t)
			}
		}
	default:
		for _, t := range ts {
			if add {
				c.have[t] = true
			} else {
				delete(c.have, t)
			}
		}
	}
	return true
}

// solve returns a query and its solutions by the model.
func (c *columnClient) solve(kind int) (text string, want []string) {
	mine := fmt.Sprintf("http://c%d/", c.id)
	out := map[string]map[string][]triple.Triple{}
	for t := range c.have {
		if !t.Graph.IsZero() {
			continue
		}
		p := t.Predicate.Value()
		if out[p] == nil {
			out[p] = map[string][]triple.Triple{}
		}
		out[p][t.Subject.Value()] = append(out[p][t.Subject.Value()], t)
	}
	all := func(p string) (list []triple.Triple) {
		for _, l := range out[p] {
			list = append(list, l...)
		}
		return list
	}
	// optional joins who somebody knows with what those may have.
	optional := func(p string) {
		for _, k := range all("http://knows") {
			found := out[p][k.Object.Value()]
			for _, a := range found {
				want = append(want, fmt.Sprint(k.Subject, " ", a.Object))
			}
			if len(found) == 0 {
				want = append(want, fmt.Sprint(k.Subject, " "))
			}
		}
	}
	filter := fmt.Sprintf("FILTER(STRSTARTS(STR(?a), %q))", mine)
	switch kind {
	case 0:
		for _, k := range all("http://knows") {
			for _, a := range out["http://age"][k.Object.Value()] {
				want = append(want, fmt.Sprint(k.Subject, " ", a.Object))
			}
		}
		return "SELECT ?a ?n { ?a <http://knows> ?b . ?b <http://age> ?n " + filter + " }", want
	case 1:
		optional("http://age")
		return "SELECT ?a ?n { ?a <http://knows> ?b OPTIONAL { ?b <http://age> ?n } " + filter + " }", want
	case 2:
		for _, t := range all("http://note") {
			want = append(want, fmt.Sprint(t.Subject, " ", t.Object))
		}
		return "SELECT ?a ?n { ?a <http://note> ?n " + filter + " }", want
	case 3:
		optional("http://note")
		return "SELECT ?a ?n { ?a <http://knows> ?b OPTIONAL { ?b <http://note> ?n } " + filter + " }", want
	case 4:
		for _, k := range all(fmt.Sprintf("http://own%d", c.id)) {
			if len(out["http://age"][k.Object.Value()]) == 0 {
				want = append(want, fmt.Sprint(k.Subject, " ", k.Object))
			}
		}
		return fmt.Sprintf("SELECT ?a ?b { ?a <http://own%d> ?b FILTER NOT EXISTS { ?b <http://age> ?n } }", c.id), want
	case 5:
		n := len(all(fmt.Sprintf("http://own%d", c.id)))
		return fmt.Sprintf("SELECT (COUNT(*) AS ?n) (1 AS ?one) { ?a <http://own%d> ?b }", c.id), []string{fmt.Sprint(triple.NewTyped(fmt.Sprint(n), triple.XSDInteger), " ", triple.NewTyped("1", triple.XSDInteger))}
	default:
		for _, k := range all(fmt.Sprintf("http://own%d", c.id)) {
			seen := map[string]bool{}
			todo := []triple.Term{k.Object}
			for len(todo) > 0 {
				at := todo[0]
				todo = todo[1:]
				for _, e := range out[fmt.Sprintf("http://own%d", c.id)][at.Value()] {
					if !seen[e.Object.Value()] {
						seen[e.Object.Value()] = true
						todo = append(todo, e.Object)
					}
				}
			}
			for e := range seen {
				want = append(want, fmt.Sprint(k.Subject, " ", triple.NewIRI(e)))
			}
		}
		return fmt.Sprintf("SELECT ?a ?c { ?a <http://own%d> ?b . ?b <http://own%[1]d>+ ?c }", c.id), want
	}
}

// ask compares the answer of a query with the model.
func (c *columnClient) ask(ctx context.Context) {
	text, want := c.solve(c.random.IntN(7))
	slices.Sort(want)
	for {
		n := c.node(c.random)
		got, plan, err := c.query(ctx, n, text)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			c.mu.Lock()
			c.stats.failed++
			c.mu.Unlock()
			if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrClosed) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnknown) {
				c.w.t.Errorf("%s: %v", text, err)
				return
			}
			time.Sleep(20 * time.Millisecond)
			continue
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			c.w.t.Errorf("client %d at %s: %s\n got %v\nwant %v\n%s", c.id, n.MachineID(), text, short(got), short(want), plan)
		}
		c.mu.Lock()
		if strings.Contains(plan, "column") {
			c.stats.columns++
		} else {
			c.stats.rows++
		}
		c.mu.Unlock()
		return
	}
}

// short returns the beginnings of solutions.
func short(all []string) (out []string) {
	for _, s := range all {
		if len(s) > 60 {
			s = s[:60]
		}
		out = append(out, s)
	}
	return out
}

func (c *columnClient) query(ctx context.Context, n *cluster.Node, text string) (got []string, plan string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	sn, err := n.Reader()
	if err != nil {
		return nil, "", err
	}
	defer sn.Close()
	result, err := sparql.Query(ctx, sn.Source(), text, sparql.Options{})
	if err != nil {
		return nil, "", err
	}
	defer result.Close()
	for row, err := range result.Rows() {
		if err != nil {
			return nil, "", err
		}
		second := ""
		if !row[1].IsZero() {
			second = row[1].String()
		}
		got = append(got, fmt.Sprint(row[0], " ", second))
	}
	return got, result.Plan().Text(false), nil
}

// TestColumnsChaos: each client sees its own triples as they are, whatever other clients change and
// whichever machines are lost, cut off, slow or back.
func TestColumnsChaos(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{2, 3, 5}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				w.adjust = func(_ *store.Options, _ *replica.Options, cfg *cluster.Config) { cfg.ColumnMemory = 1 << 20 }
				w.form()
				events := 3
				if os.Getenv("TREFOIL_TORTURE") != "" {
					events = 12
				}
				chaos := &columnChaos{w: w}
				chaos.set()
				ctx, stop := context.WithCancel(t.Context())
				var group sync.WaitGroup
				for i := range 3 {
					random := rand.New(rand.NewPCG(w.seed, uint64(i+10)))
					c := &columnClient{chaos, i, random, map[triple.Triple]bool{}}
					group.Go(func() {
						for ctx.Err() == nil && !t.Failed() {
							for range c.random.IntN(3) {
								if !c.change(ctx) {
									return
								}
							}
							for range c.random.IntN(4) {
								c.ask(ctx)
							}
							if c.random.IntN(4) == 0 {
								time.Sleep(time.Duration(c.random.IntN(1500)) * time.Millisecond)
							} else {
								time.Sleep(time.Duration(c.random.IntN(30)) * time.Millisecond)
							}
						}
					})
				}
				loader := &columnClient{chaos, 9, rand.New(rand.NewPCG(w.seed, 99)), map[triple.Triple]bool{}}
				for range events {
					if t.Failed() {
						break
					}
					time.Sleep(time.Duration(w.random.IntN(3000)) * time.Millisecond)
					event := w.random.IntN(7)
					switch {
					case event == 0 && machines > 2: // killed, and back
						m := w.any()
						m.kill()
						chaos.set()
						time.Sleep(time.Duration(w.random.IntN(40)) * time.Second)
						m.runAgain()
					case event == 1: // restarted
						m := w.any()
						m.stop()
						chaos.set()
						time.Sleep(time.Duration(w.random.IntN(2000)) * time.Millisecond)
						m.run()
					case event == 2:
						m := w.any()
						w.net.Isolate(m.name)
						time.Sleep(time.Duration(w.random.IntN(30)) * time.Second)
						w.net.Heal()
					case event == 3:
						w.net.Delay(time.Millisecond, time.Duration(1+w.random.IntN(150))*time.Millisecond)
						time.Sleep(time.Duration(w.random.IntN(5)) * time.Second)
						w.net.Delay(0, 0)
					case event == 4:
						m := w.any()
						w.net.Freeze(m.name)
						time.Sleep(time.Duration(w.random.IntN(8000)) * time.Millisecond)
						w.net.Thaw(m.name)
					case event == 5 || event == 6:
						var all []triple.Triple
						for range 40 {
							all = append(all, loader.one())
						}
						source := document(t, fmt.Sprintf("load%d.nq", w.random.Uint64()), all, 0)
						if _, err := w.any().load(ctx, source, false); err != nil {
							t.Logf("load: %v", err)
							loader = &columnClient{chaos, loader.id + 1, loader.random, map[triple.Triple]bool{}}
							continue
						}
						for _, one := range all {
							loader.have[one] = true
						}
						for range 5 {
							loader.ask(ctx)
						}
					}
					// Machines that were excluded join again.
					for i := 0; i < 600 && !settled(w.up()) && !t.Failed(); i++ {
						time.Sleep(200 * time.Millisecond)
						for _, m := range w.up() {
							select {
							case <-m.node.Failed():
								m.rejoin()
							default:
							}
						}
					}
					chaos.set()
					if !settled(w.up()) {
						w.settle()
					}
				}
				stop()
				group.Wait()
				t.Logf("%d by columns, %d by rows, %d failed", chaos.stats.columns, chaos.stats.rows, chaos.stats.failed)
			})
		})
	}
}
