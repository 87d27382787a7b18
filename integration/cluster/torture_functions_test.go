// Update functions on clusters under faults.

package cluster

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// TestTortureFunctions runs a counter and an inverse property under the faults of [TestTorture]: kills,
// partitions, moves, bad disks. At the end the counter is the number of changes, so none was lost or
// counted twice, and the inverse triples are those of the parents. Subscriptions have every change, and a
// counter that is compared and set has every increase that was acknowledged.
func TestTortureFunctions(t *testing.T) {
	tortureSeeds(t, func(t *testing.T, seed uint64) {
		bubble.Test(t, func(t *testing.T) { tortureFunctions(t, seed, 2) })
	})
}

func tortureFunctions(t *testing.T, seed uint64, rounds int) {
	// 1. A cluster with both functions.
	r := rand.New(rand.NewPCG(seed, 6))
	to := &torture{t: t, world: newWorld(t, seed), random: r, universe: newUniverse(0, 0, 0), errors: map[string]int{}, webhooks: newWebhooks(),
		history: &history{events: map[int][]porcupine.Operation{}, unknown: map[int]int{}}}
	to.moveRate = 1 << (14 + r.IntN(12))
	to.copies = recovery.MinCopies + r.IntN(recovery.MaxCopies-recovery.MinCopies+1)
	defer to.close()
	defer func() { t.Logf("errors: %v; faults: %q", to.errors, to.faults) }()
	to.form(3)
	// A machine that is alone keeps readers waiting while others join, for virtual time.
	to.functions.Store(true)
	for _, h := range to.hosts {
		h.up().openFunctions(h.member())
	}
	all := to.functionHosts()
	all.put(to.world.any())
	names := []string{"a", "b"}
	to.world.must("subscribe", func(ctx context.Context) error { return subscribe(ctx, to.world.any().node, names, ex+"likes") })
	counter := &casCounter{torture: to}

	// 2. Clients, while machines and the network fail.
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	for i := range 2 {
		own := rand.New(rand.NewPCG(seed, uint64(300+i)))
		clients.Go(func() { all.changeSome(ctx, i, own.IntN, func() store.Triples { return to.anyMember(ctx, own) }) })
	}
	for i := range 2 {
		own := rand.New(rand.NewPCG(seed, uint64(310+i)))
		clients.Go(func() { counter.run(ctx, own) })
	}
	for range rounds {
		to.round()
		to.whole()
	}
	cancel()
	clients.Wait()

	// 3. All is mended.
	to.rest()
	all = to.functionHosts()
	counter.check()
	to.mustHaveDelivered(names)
	agree := all.mustAgree()
	if !agree {
		to.note("a function missed changes, as the feed did not reach back")
	}
	to.settled()
	to.world.checkDisks()
	likes := len(all.objects(triple.Pattern{Predicate: triple.NewIRI(ex + "likes")}))
	t.Logf("totals: clusters=1 faults=%d likes=%d agree=%t", to.struck, likes, agree)
	if likes == 0 {
		t.Error("the clients wrote nothing")
	}
}

// openFunctions starts the functions and the deliveries of a process.
func (p *process) openFunctions(n *cluster.Node) {
	s := functions.Open(functions.Options{Store: n, Feed: n.Feed(), Owns: n.Owns, Logger: p.host.torture.world.log.With("machine", p.host.name)})
	deliveries, err := deliver(n, senderOf{p.host.torture.webhooks, p.host.name, p.dead.Load})
	if err != nil {
		p.host.torture.fail("%s: deliver: %v", p.host.name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.service, p.deliveries = s, deliveries
}

// closeFunctions ends the functions and the deliveries of a process, if it has some.
func (p *process) closeFunctions() error {
	p.mu.Lock()
	s, deliveries := p.service, p.deliveries
	p.service, p.deliveries = nil, nil
	p.mu.Unlock()
	if s == nil {
		return nil
	}
	if deliveries != nil {
		deliveries.Close()
	}
	return s.Close()
}

// anyMember waits for a node that runs. It returns nil if ctx ends first.
func (t *torture) anyMember(ctx context.Context, r *rand.Rand) store.Triples {
	for ctx.Err() == nil {
		if p := t.anyProcess(r); p != nil {
			if n, _ := p.running(); n != nil {
				return n
			}
		}
		time.Sleep(20 * time.Millisecond) // of virtual time
	}
	return nil
}

// functionHosts returns the functions of all hosts, which must run.
func (t *torture) functionHosts() *functionHosts {
	t.machines()
	all := &functionHosts{t.world, map[*machine]*functions.Service{}}
	for i, h := range t.wanted() {
		p := h.up()
		p.mu.Lock()
		all.services[t.world.machines[i]] = p.service
		p.mu.Unlock()
	}
	return all
}
