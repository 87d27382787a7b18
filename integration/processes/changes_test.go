// A consumer of the change feed while processes are killed.

package processes

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// follower is a consumer that continues at the next machine when the one it reads fails.
type follower struct {
	position string

	mu   sync.Mutex
	seen map[triple.Triple]bool
}

func (f *follower) follow(ctx context.Context, machines []*machine) {
	for i := 0; ctx.Err() == nil; i++ {
		for change, err := range machines[i%len(machines)].client.Feed.Changes(ctx, client.ChangesOptions{Since: f.position}) {
			if err != nil {
				break
			}
			f.mu.Lock()
			f.seen[change.Triple] = true
			f.mu.Unlock()
			if change.Position != "" {
				f.position = change.Position
			}
		}
	}
}

// lacks returns an error if the consumer lacks one of the triples.
func (f *follower) lacks(all []triple.Triple) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range all {
		if !f.seen[t] {
			return fmt.Errorf("the consumer has %d triples, without %v", len(f.seen), t)
		}
	}
	return nil
}

// TestChangesKillTwo: two of five machines are killed while clients write and a consumer follows
// through one of the two. It continues through others, and has every acknowledged triple.
func TestChangesKillTwo(t *testing.T) {
	t.Parallel()
	c := form(t, 5)
	since, err := c.machines[0].client.Feed.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{position: since, seen: map[triple.Triple]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	var running, writing sync.WaitGroup
	running.Go(func() { f.follow(ctx, c.machines) })
	defer running.Wait()
	defer cancel()
	// 1. Write through the others, and kill two in the middle.
	middle := make(chan struct{})
	var acknowledged []triple.Triple
	writing.Go(func() {
		for i := range 300 {
			if i == 100 {
				close(middle)
			}
			tr := triple.Triple{Subject: triple.NewIRI(fmt.Sprint(ex, i)), Predicate: triple.NewIRI(ex + "p"), Object: triple.NewString("o")}
			if _, err := c.machines[2+i%3].client.Add(ctx, []triple.Triple{tr}); err == nil {
				acknowledged = append(acknowledged, tr)
			}
		}
	})
	<-middle
	for _, m := range c.machines[:2] {
		m.process.signal(t, syscall.SIGKILL)
	}
	for _, m := range c.machines[:2] {
		m.process.wait(t)
	}
	writing.Wait()
	// 2. The consumer has all.
	if len(acknowledged) < 200 {
		t.Errorf("only %d of 300 adds were acknowledged", len(acknowledged))
	}
	until(t, "the consumer has every acknowledged triple", func() error { return f.lacks(acknowledged) })
}
