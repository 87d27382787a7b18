// Subscriptions, and annotations that are compared and set, on clusters under faults.

package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// mustHaveDelivered waits until each subscription has all likes that are stored. One whose position
// the feed did not reach has a record of that instead.
func (t *torture) mustHaveDelivered(names []string) {
	likes := t.world.objects(triple.Pattern{Predicate: triple.NewIRI(ex + "likes")})
	for _, name := range names {
		gone := false
		t.world.until("the likes arrive at "+name, func() bool {
			s, err := registryOf(t.world.any().node).Get(t.t.Context(), name)
			if err != nil {
				return false
			}
			for _, d := range s.State.Dead {
				gone = gone || strings.Contains(d.Error, "no longer reaches")
			}
			return gone || len(t.webhooks.missing(name, likes)) == 0
		})
		if gone {
			t.note("the feed did not reach back to the subscription %s", name)
		}
	}
	t.note("%d likes were delivered", len(likes))
}

// casCounter is an annotation that clients increase by compare and set.
type casCounter struct {
	torture *torture

	mu             sync.Mutex
	acked, unknown uint64
}

var counted = exTriple("counted", "by", "clients")

// read returns the counter and the condition under which it may be increased.
func (c *casCounter) read(ctx context.Context, n *cluster.Node) (uint64, store.Condition, error) {
	r, err := n.Reader()
	if err != nil {
		return 0, store.Condition{}, err
	}
	defer r.Close()
	a, err := r.Annotation(ctx, counted, app)
	if err != nil || a == nil {
		return 0, store.Condition{Absent: true}, err
	}
	number, _ := binary.Uvarint(a.Data)
	return number, store.Condition{Version: a.Version}, nil
}

func (c *casCounter) run(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		if p := c.torture.anyProcess(random); p != nil {
			if n, _ := p.running(); n != nil {
				limited, cancel := context.WithTimeout(ctx, 10*time.Second)
				c.increase(limited, p, n)
				cancel()
			}
		}
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond) // of virtual time
	}
}

func (c *casCounter) increase(ctx context.Context, p *process, n *cluster.Node) {
	// 1. The triple must be there. What a dead process answers reaches nothing.
	if _, err := store.Add(ctx, n, []triple.Triple{counted}); err != nil {
		return
	}
	number, when, err := c.read(ctx, n)
	if p.await(); err != nil || p.dead.Load() {
		return
	}
	// 2. Increase it. Only a conflict tells that nothing was done.
	_, err = store.AnnotateIf(ctx, n, counted, app, binary.AppendUvarint(nil, number+1), when)
	p.await()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case p.dead.Load():
		c.unknown++
	case err == nil:
		c.acked++
	case !errors.Is(err, store.ErrConflict):
		c.unknown++
	}
}

// check compares the counter with what clients were answered: none of the acknowledged increases is
// lost, and none was done by two clients at once.
func (c *casCounter) check() {
	var number uint64
	c.torture.world.must("read the counter", func(ctx context.Context) (err error) {
		number, _, err = c.read(ctx, c.torture.world.any().node)
		return err
	})
	if number < c.acked || number > c.acked+c.unknown {
		c.torture.t.Errorf("the counter is %d: %d increases were acknowledged, %d may be done", number, c.acked, c.unknown)
	}
	c.torture.note("the counter is %d: %d increases were acknowledged, %d may be done", number, c.acked, c.unknown)
}
