// Update functions on processes that are killed.

package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

const ex = "http://example.org/"

func exTriple(s, p, o string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(ex + s), Predicate: triple.NewIRI(ex + p), Object: triple.NewIRI(ex + o)}
}

// functionKills returns how often the process that runs the functions is killed: TREFOIL_KILLS, if it is
// set.
func functionKills(t *testing.T, few int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("TREFOIL_KILLS"), strconv.Itoa(few)))
	if err != nil {
		t.Fatalf("TREFOIL_KILLS: %v", err)
	}
	return n
}

// TestKillFunctions kills the process that runs a counter and an inverse property, in the middle, again
// and again. At the end the counter is the number of changes, and no effect was made twice.
func TestKillFunctions(t *testing.T) {
	for _, test := range []struct{ machines, kills int }{{1, 4}, {3, 2}} {
		t.Run(fmt.Sprint(test.machines), func(t *testing.T) {
			t.Parallel()
			random := newRandom(t)
			c := newCluster(t, test.machines)
			whole := func(int) {}
			if test.machines > 1 {
				c.form()
				whole = func(members int) { c.whole(members) }
			} else {
				c.machines[0].start()
				c.machines[0].ready()
			}
			since := c.putFunctions()
			w := &functionWriters{c: c}
			moved := 0
			for range functionKills(t, test.kills) {
				// 1. Clients write while the process is killed.
				victim := c.runner("counter")
				stop := w.start(random)
				pass(randomTime(random, 0, 500*time.Millisecond))
				victim.kill()
				// 2. Another machine continues. A lone one comes back. A machine that came back before it
				// was excluded may be missed later, when the next one is killed.
				whole(test.machines - 1)
				if test.machines > 1 {
					if next := c.runner("counter"); next != victim {
						moved++
					}
				}
				stop()
				victim.start()
				victim.ready()
				whole(test.machines)
			}
			calls := c.mustAgree()
			t.Logf("%d likes, %d calls, %d times another machine continued", w.number, calls, moved)
			if w.number == 0 || calls == 0 {
				t.Error("nothing was written")
			}
			if test.machines == 1 {
				c.mustNotDouble(since)
			}
			// 3. Clients cannot write the system graph.
			var refused *client.Error
			system := exTriple("s", "p", "o")
			system.Graph = triple.NewIRI("urn:trefoil:system")
			for _, m := range c.machines {
				if _, err := m.client.Add(t.Context(), []triple.Triple{system}); !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
					t.Errorf("an add to the system graph through machine %d: %v", m.number, err)
				}
			}
		})
	}
}

// putFunctions registers the functions, and returns the position of the feed before their first change.
func (c *cluster) putFunctions() (since string) {
	c.t.Helper()
	for name, o := range map[string]client.FunctionOptions{
		"counter": {Pattern: triple.Pattern{Predicate: triple.NewIRI(ex + "likes")}, Arguments: []string{"<" + ex + "counter> <" + ex + "value> ?"}},
		"inverse": {Pattern: triple.Pattern{Predicate: triple.NewIRI(ex + "parentOf")}},
	} {
		module, err := os.ReadFile(filepath.Join("..", "..", "internal", "functions", "sandbox", "testdata", name+".wasm"))
		require.NoError(c.t, err)
		// A slow machine must not change the outcome.
		o.Kinds, o.Timeout, o.Retries = []string{"add", "delete"}, 10*time.Second, 10
		until(c.t, "the registration of "+name, func() error {
			_, err := c.machines[0].client.Functions.Put(c.t.Context(), name, module, o)
			return err
		})
	}
	until(c.t, "a position", func() (err error) {
		since, err = c.machines[0].client.Feed.Position(c.t.Context())
		return err
	})
	return since
}

// runner waits until a machine runs a function, and returns it.
func (c *cluster) runner(name string) (runner *machine) {
	c.t.Helper()
	until(c.t, "a machine that runs "+name, func() error {
		for _, m := range c.up() {
			f, err := m.client.Functions.Get(c.t.Context(), name)
			if err == nil && f.Running {
				runner = m
				return nil
			}
		}
		return errors.New("none runs it")
	})
	return runner
}

// functionWriters writes likes and parents. Each is added once, because a function may be called for an
// add that changes nothing while a cluster rebuilds copies.
type functionWriters struct {
	c      *cluster
	mu     sync.Mutex
	number int // of the next like
}

func (w *functionWriters) take(n int) (first int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number += n
	return w.number - n
}

// start begins to write through all machines that run. stop ends it. The writes are few, because a
// cluster must copy all triples after each kill.
func (w *functionWriters) start(random *rand.Rand) (stop func()) {
	ctx, cancel := context.WithCancel(w.c.t.Context())
	var running sync.WaitGroup
	for range 2 {
		own, machines := rand.New(rand.NewPCG(random.Uint64(), 0)), w.c.up()
		running.Go(func() {
			for range 20 {
				w.write(ctx, own, machines[own.IntN(len(machines))].client)
				pass(randomTime(own, 0, 50*time.Millisecond))
			}
		})
	}
	return func() { cancel(); running.Wait() }
}

// write adds some likes and parents, and deletes one of these parents. Each write may be done or not.
func (w *functionWriters) write(ctx context.Context, random *rand.Rand, to *client.Client) {
	const batch = 10
	first := w.take(batch)
	var all, parents []triple.Triple
	for n := first; n < first+batch; n++ {
		all = append(all, exTriple("client", "likes", fmt.Sprint(n)))
		parents = append(parents, exTriple(fmt.Sprint("p", n), "parentOf", fmt.Sprint("c", n)))
	}
	if _, err := to.Add(ctx, append(all, parents...)); err != nil {
		return
	}
	at := random.IntN(batch)
	to.Delete(ctx, parents[at:at+1]) //nolint:errcheck // it may be done or not
}

// read returns the subjects and objects of a predicate.
func (c *cluster) read(predicate string) (all []string, err error) {
	for t, err := range c.up()[0].client.Match(c.t.Context(), triple.Pattern{Predicate: triple.NewIRI(ex + predicate)}) {
		if err != nil {
			return nil, err
		}
		all = append(all, t.Subject.Value()+" "+t.Object.Value())
	}
	slices.Sort(all)
	return all, nil
}

// mustAgree waits until the counter is the number of likes, and childOf the inverse of parentOf. It
// returns the number of calls.
func (c *cluster) mustAgree() (calls int64) {
	c.t.Helper()
	until(c.t, "the effects of all changes", func() error {
		read := map[string][]string{}
		for _, p := range []string{"likes", "value", "parentOf", "childOf"} {
			var err error
			if read[p], err = c.read(p); err != nil {
				return err
			}
		}
		var inverse []string
		for _, pair := range read["parentOf"] {
			var p, o string
			fmt.Sscan(pair, &p, &o)
			inverse = append(inverse, o+" "+p)
		}
		slices.Sort(inverse)
		if want := []string{fmt.Sprint(ex, "counter ", len(read["likes"]))}; !slices.Equal(read["value"], want) {
			return fmt.Errorf("the counter is %q, want %q", read["value"], want)
		}
		if !slices.Equal(inverse, read["childOf"]) {
			return fmt.Errorf("%d inverse triples of %d parents", len(read["childOf"]), len(inverse))
		}
		f, err := c.up()[0].client.Functions.Get(c.t.Context(), "counter")
		if err == nil && f.State.Counts.Failures > 0 {
			c.t.Errorf("failures: %+v, %+v", f.State.Counts, f.State.LastError)
		}
		calls = f.State.Counts.Calls
		return err
	})
	return calls
}

// mustNotDouble reads the effects in the feed of a lone machine: each inverse was added at most once,
// and the counter only grew.
func (c *cluster) mustNotDouble(since string) {
	c.t.Helper()
	added, last := map[string]int{}, 0
	for change, err := range c.machines[0].client.Feed.Changes(c.t.Context(), client.ChangesOptions{Since: since, End: true, Kinds: []string{"add"}}) {
		require.NoError(c.t, err)
		switch t := change.Triple; t.Predicate.Value() {
		case ex + "childOf":
			added[t.Subject.Value()]++
		case ex + "value":
			n, err := strconv.Atoi(t.Object.Value())
			if err != nil || n <= last {
				c.t.Errorf("the counter was %d, and then %q", last, t.Object.Value())
			}
			last = n
		}
	}
	if len(added) == 0 || last == 0 {
		c.t.Errorf("the feed has %d inverse triples, and the counter is %d", len(added), last)
	}
	if times := slices.Max(slices.Collect(maps.Values(added))); times > 1 {
		c.t.Errorf("an inverse triple was added %d times", times)
	}
}
