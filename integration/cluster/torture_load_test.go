// The torture's bulk loads.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// loadTriples is how many triples each bulk load of a torture has.
const loadTriples = 120

// loader makes the bulk loads of a torture, one after the other. To a history each
// is a register: it is there, or not, and every answer says of all its triples the
// same.
type loader struct {
	torture *torture
	random  *rand.Rand
	sources []input.Source
}

// newLoader writes the documents of all loads.
func newLoader(t *torture, random *rand.Rand) *loader {
	l := &loader{torture: t, random: random}
	for k := range t.universe.loads {
		var all []triple.Triple
		for i := range loadTriples {
			all = append(all, fact(t.universe.all+k*loadTriples+i))
		}
		l.sources = append(l.sources, document(t.t, fmt.Sprintf("%d.nq", k), all, 0))
	}
	return l
}

func (l *loader) run(ctx context.Context) {
	for k, source := range l.sources {
		sleep(ctx, time.Duration(l.random.IntN(12000))*time.Millisecond)
		for try := 0; try < 4 && !l.load(ctx, k, source); try++ {
			sleep(ctx, time.Duration(l.random.IntN(3000))*time.Millisecond)
		}
	}
}

// load reports whether the load is acknowledged.
func (l *loader) load(ctx context.Context, k int, source input.Source) bool {
	t := l.torture
	p := t.anyProcess(l.random)
	if p == nil {
		return false
	}
	n, _ := p.running()
	if n == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+l.random.IntN(60))*time.Second)
	defer cancel()
	options := rdfload.Options{Memory: rdfload.MinMemory, Workers: 1}
	t.universe.begun.Store(int64(k + 1))
	call := t.history.tick()
	s, err := rdfload.Load(ctx, n.Sink(), []input.Source{source}, options)
	for resumes := 0; err != nil && errors.Is(err, rdfload.ErrKept) && ctx.Err() == nil && resumes < 3; resumes++ {
		t.saw(err)
		sleep(ctx, time.Second)
		if n, _ = p.running(); n == nil {
			break
		}
		options.Resume = true
		s, err = rdfload.Load(ctx, n.Sink(), []input.Source{source}, options)
	}
	known := err == nil && !p.dead.Load()
	t.history.wrote(t.universe.register(k), true, call, known, fmt.Sprintf("load %d through %s: %v", k, p.host.name, err))
	if err != nil {
		t.saw(err)
		return false
	}
	if known && s.Read != loadTriples {
		t.fail("load %d has read %d triples", k, s.Read)
	}
	if known {
		t.loaded.Add(1)
	}
	return known
}

// move has segments split and moved to where they then belong, again and again: a
// load that is given up when the space has been split for it. In between they are
// split because they grow.
func (t *torture) move(ctx context.Context, random *rand.Rand) {
	keys := t.universe.keys
	for n := 0; ctx.Err() == nil; n++ {
		sleep(ctx, time.Duration(random.IntN(15000))*time.Millisecond)
		p := t.anyProcess(random)
		if p == nil {
			continue
		}
		node, _ := p.running()
		if node == nil {
			continue
		}
		var sample rdfload.Sample
		for len(sample.Keys) < 4 {
			some := keys[triple.Orders[random.IntN(3)]]
			sample.Keys = append(sample.Keys, some[random.IntN(len(some))])
		}
		slices.SortFunc(sample.Keys, bytes.Compare)
		sample.Bytes = 1 << 40 // more than the cluster holds
		id := fmt.Sprintf("moves%d", n)
		func() {
			ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
			defer cancel()
			start, err := node.Sink().Begin(ctx, id)
			if err != nil {
				return
			}
			defer start.Spread.End(id, false)
			before := node.View().Epoch
			if _, err := start.Spread.Place(ctx, sample); err == nil && node.View().Epoch > before {
				t.moves.Add(1)
			}
		}()
	}
}

// rest waits until nothing is split or moved any more.
func (t *torture) rest() {
	for deadline := time.Now().Add(waitLimit); ; {
		t.whole()
		before := t.wanted()[0].member().View().Epoch
		time.Sleep(12 * time.Second) // of virtual time: longer than between two looks at sizes
		if t.whole(); t.wanted()[0].member().View().Epoch == before {
			return
		}
		if time.Now().After(deadline) {
			t.t.Fatal("segments are split or moved without end")
		}
	}
}
