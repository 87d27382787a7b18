// Subscriptions in a cluster: machines fail between a delivery and the save of its position.

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/subscriptions"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

// webhooks are the receivers of all subscriptions. They are outside of the cluster.
type webhooks struct {
	mu    sync.Mutex
	got   map[string]map[string]int  // number of messages with a change, by subscription and identity
	adds  map[string]map[string]bool // "subject object" of adds, by subscription
	armed chan heldBatch             // receives the next accepted message, if set
}

// heldBatch is an accepted message whose sender waits.
type heldBatch struct {
	by      string // the machine
	name    string // the subscription
	changes []string
	release chan struct{}
}

func newWebhooks() *webhooks {
	return &webhooks{got: map[string]map[string]int{}, adds: map[string]map[string]bool{}}
}

// senderOf sends for a machine, unless it is dead.
type senderOf struct {
	*webhooks
	machine string
	dead    func() bool
}

func (s senderOf) Send(ctx context.Context, m *webhook.Message) error {
	select {
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.dead() {
		return errors.New("it has no power")
	}
	name, changes := m.Header.Get("Trefoil-Subscription"), []string(nil)
	s.mu.Lock()
	if s.got[name] == nil {
		s.got[name], s.adds[name] = map[string]int{}, map[string]bool{}
	}
	for line := range strings.Lines(string(m.Body)) {
		var c struct {
			Kind, Sequencer string
			Epoch, Sequence uint64
			S, O            struct{ Value string }
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			s.mu.Unlock()
			return err
		}
		id := fmt.Sprint(c.Kind, " ", c.Epoch, ".", c.Sequence, " ", c.Sequencer, " ", c.O.Value)
		s.got[name][id]++
		changes = append(changes, id)
		if c.Kind == "add" {
			s.adds[name][c.S.Value+" "+c.O.Value] = true
		}
	}
	armed := s.armed
	s.armed = nil
	s.mu.Unlock()
	if armed != nil {
		h := heldBatch{s.machine, name, changes, make(chan struct{})}
		armed <- h
		<-h.release
	}
	return nil
}

// arm makes the next sender of an accepted message wait.
func (s *webhooks) arm() <-chan heldBatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = make(chan heldBatch, 1)
	return s.armed
}

// missing returns the added triples that a subscription has not got, of a list of "subject object".
func (s *webhooks) missing(name string, adds []string) (missing []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range adds {
		if !s.adds[name][o] {
			missing = append(missing, o)
		}
	}
	return missing
}

// times returns how often a subscription has got the least frequent of some changes.
func (s *webhooks) times(name string, changes []string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 1 << 30
	for _, id := range changes {
		n = min(n, s.got[name][id])
	}
	return n
}

// registryOf returns the registry of subscriptions of a node. Filters have a predicate only.
func registryOf(n *cluster.Node) *subscriptions.Registry {
	filter := func(params map[string]string) (f feed.Filter, err error) {
		if p := params["p"]; p != "" {
			f.Pattern.Predicate = triple.NewIRI(p)
		}
		return f, nil
	}
	return &subscriptions.Registry{Store: n, Filter: filter, CheckURL: func(string) error { return nil }, Key: []byte("key")}
}

// deliver starts the deliveries of a node.
func deliver(n *cluster.Node, s senderOf) (*subscriptions.Manager, error) {
	return subscriptions.Start(subscriptions.Options{
		Registry: registryOf(n), Sender: s, Owns: n.Owns, BatchBytes: 2000, Policy: webhook.Policy{MaxWait: 5 * time.Second, MaxAge: 24 * time.Hour, MaxTries: 1 << 20},
	})
}

// subscribe stores some subscriptions of a predicate.
func subscribe(ctx context.Context, n *cluster.Node, names []string, predicate string) error {
	for _, name := range names {
		d := subscriptions.Definition{Name: name, Filter: map[string]string{"p": predicate}, URL: "https://" + name + ".example/"}
		if _, err := registryOf(n).Put(ctx, subscriptions.Caller{}, d, ""); err != nil {
			return err
		}
	}
	return nil
}

// subscriptionHosts runs the deliveries of a world's machines.
type subscriptionHosts struct {
	*world
	lone     bool // there is one machine, which is no cluster
	webhooks *webhooks
	managers map[*machine]*subscriptions.Manager
}

func (h *subscriptionHosts) start(m *machine) {
	h.t.Helper()
	n := m.node
	manager, err := deliver(n, senderOf{h.webhooks, m.name, func() bool { return m.node != n }})
	if err != nil {
		h.t.Fatal(err)
	}
	h.managers[m] = manager
}

func (h *subscriptionHosts) stop(m *machine) {
	if s := h.managers[m]; s != nil {
		delete(h.managers, m)
		s.Close()
	}
}

// TestSubscriptionsUnderFaults: the machine that delivers loses its power for a while or for good, or
// is isolated, after the receiver has accepted a batch and before its position is stored. The batch is
// sent again, with the same identities of its changes, and nothing is lost.
func TestSubscriptionsUnderFaults(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{1, 5}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) { subscriptionsUnderFaults(t, w) })
		})
	}
}

func subscriptionsUnderFaults(t *testing.T, w *world) {
	h := &subscriptionHosts{w, len(w.machines) == 1, newWebhooks(), map[*machine]*subscriptions.Manager{}}
	defer func() {
		for m := range maps.Clone(h.managers) {
			h.stop(m)
		}
	}()
	faults := []string{"restart", "isolate", "die", "restart"}
	if h.lone {
		faults = []string{"restart", "restart", "restart"}
		w.machines[0].run()
	} else {
		w.form()
	}
	for _, m := range w.machines {
		h.start(m)
	}
	names := []string{"a", "b", "c"}
	w.must("subscribe", func(ctx context.Context) error { return subscribe(ctx, w.any().node, names, ex+"likes") })
	var objects []string
	add := func(through *machine) {
		o := fmt.Sprint("o", len(objects))
		w.mustAdd(through, exTriple("s", "likes", o))
		objects = append(objects, ex+"s "+ex+o)
	}
	arrived := func() {
		t.Helper()
		for _, name := range names {
			w.until("all changes arrive at "+name, func() bool { return len(h.webhooks.missing(name, objects)) == 0 })
		}
	}
	for i := range 5 {
		add(w.machines[i%len(w.machines)])
	}
	arrived()
	for _, fault := range faults {
		// 1. A machine waits between a delivery and the save.
		armed := h.webhooks.arm()
		add(w.any())
		at := <-armed
		m := w.machines[slices.IndexFunc(w.machines, func(m *machine) bool { return m.name == at.by })]
		before := h.webhooks.times(at.name, at.changes)
		t.Logf("%s %s after a delivery for %s", fault, m.name, at.name)
		// 2. It fails exactly then.
		if fault == "isolate" {
			w.net.Isolate(m.name)
		} else {
			m.kill()
		}
		close(at.release)
		if fault != "isolate" {
			h.stop(m)
		}
		if fault == "restart" {
			h.comeBack(m)
		}
		// 3. The batch comes again, with the same identities.
		through := func() *machine {
			if fault == "isolate" {
				return w.others(m)[0]
			}
			return w.any()
		}
		w.until("the batch is sent again", func() bool { return h.webhooks.times(at.name, at.changes) > before })
		for range 3 {
			add(through())
		}
		arrived()
		// 4. All is mended, but for a machine that died.
		switch fault {
		case "isolate":
			w.net.Heal()
			h.stop(m)
			m.stop()
			h.comeBack(m)
			arrived()
		case "die":
			<-m.stopped
			w.machines = slices.DeleteFunc(w.machines, func(other *machine) bool { return other == m })
		}
		if !h.lone {
			w.settle()
		}
	}
	// Each subscription is where its deliveries are.
	for _, name := range names {
		w.until("the positions are stored", func() bool {
			s, err := registryOf(w.any().node).Get(t.Context(), name)
			return err == nil && s.State.Failures == 0 && s.State.Changes >= int64(len(objects)) && s.State.DeadLetters == 0
		})
	}
}

// comeBack starts a machine. If the others have excluded it, it joins as a new one.
func (h *subscriptionHosts) comeBack(m *machine) {
	h.t.Helper()
	if m.stopped != nil {
		<-m.stopped
	}
	m.runAgain(h.others(m)...)
	if h.lone {
		h.start(m)
		return
	}
	excluded := func() bool {
		select {
		case <-m.node.Failed():
			return true
		default:
			return false
		}
	}
	h.until("the machine is a member or excluded", func() bool { return excluded() || m.node.Lease() == nil })
	if excluded() {
		m.rejoin()
	}
	h.until("it has a lease", func() bool { return m.node.Lease() == nil })
	h.start(m)
}
