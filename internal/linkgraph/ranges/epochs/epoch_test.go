// Tests of the epoch of the graph.

package epochs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/trie"
)

// counted is a store whose members return counts.
type counted struct {
	ownership.Store
	mu     sync.Mutex
	view   *view.View
	marks  map[trie.MachineID]replica.JournalMark
	silent trie.MachineID
	asked  int // for counts
	waited int // of these, for settled ones
	answer func(ctx context.Context, epoch uint64, of trie.MachineID) error
}

func (s *counted) MachineID() trie.MachineID { return 1 }

func (s *counted) Hears(id trie.MachineID) bool { return id != s.silent }

func (s *counted) View() *view.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

func (s *counted) JournalChanges(ctx context.Context, epoch uint64, of trie.MachineID, settled bool) (replica.JournalMark, error) {
	s.mu.Lock()
	s.asked++
	if settled {
		s.waited++
	}
	mark := s.marks[of]
	s.mu.Unlock()
	if s.answer != nil {
		if err := s.answer(ctx, epoch, of); err != nil {
			return replica.JournalMark{}, err
		}
	}
	return mark, nil
}

// countedGraph returns a graph of some members.
func countedGraph(members int) (g *Epochs, s *counted, end context.CancelCauseFunc) {
	s = &counted{view: &view.View{Epoch: 7}, marks: map[trie.MachineID]replica.JournalMark{}}
	for id := range trie.MachineID(members) {
		s.view.Members = append(s.view.Members, view.Member{ID: id + 1, Incarnation: 1})
		s.marks[id+1] = replica.JournalMark{Incarnation: 1, Number: 10}
	}
	ctx, end := context.WithCancelCause(context.Background())
	return New(rowreader.New(ctx, ownership.New(s, 0, nil), linkkeys.Keys{})), s, end
}

// TestEpochOf checks that every different number gives another epoch, within the bounds.
func TestEpochOf(t *testing.T) {
	of := func(generation, epoch uint64, marks ...uint64) uint64 {
		var all []replica.JournalMark
		for i := 0; i < len(marks); i += 2 {
			all = append(all, replica.JournalMark{Incarnation: marks[i], Number: marks[i+1]})
		}
		got := epochOf(&view.View{Generation: generation, Epoch: epoch}, all)
		if got < links.MinClusterEpoch || got >= 1<<53 {
			t.Errorf("%d", got)
		}
		return got
	}
	if got := of(1, 7, 1, 10, 1, 11); got != 4849657382431618 {
		t.Errorf("the epoch is %d: other machines, and clients, would have another one", got)
	}
	seen := map[uint64]string{}
	for g := range uint64(2) {
		for e := range uint64(3) {
			for n := range uint64(20) {
				for m := range uint64(20) {
					for incarnation := range uint64(2) {
						text := fmt.Sprint(g, e, n, m, incarnation)
						epoch := of(g, e, 1, n, incarnation, m)
						if before, ok := seen[epoch]; ok {
							t.Fatalf("%s and %s are epoch %d", before, text, epoch)
						}
						seen[epoch] = text
					}
				}
			}
		}
	}
}

// TestCurrentEpoch checks that one message for each member suffices if the epoch is still the
// told one. Another epoch must come from committed counts, and must differ whichever member's
// count grows.
func TestCurrentEpoch(t *testing.T) {
	g, s, _ := countedGraph(5)
	ctx := t.Context()
	ask := func(told uint64, asked, waited int) uint64 {
		t.Helper()
		s.asked, s.waited = 0, 0
		now, err := g.CurrentEpoch(ctx, told)
		if err != nil || s.asked != asked || s.waited != waited {
			t.Fatalf("%d, %v; %d messages, %d of them wait; want %d and %d", now, err, s.asked, s.waited, asked, waited)
		}
		return now
	}
	last := ask(0, 5, 5)
	seen := map[uint64]bool{last: true}
	for id := range trie.MachineID(5) {
		if now := ask(last, 5, 0); now != last {
			t.Fatalf("%d, and %d before", now, last)
		}
		mark := s.marks[id+1]
		mark.Number++
		s.marks[id+1] = mark
		now := ask(last, 10, 5)
		if seen[now] {
			t.Fatalf("machine %d has changed something, and the epoch is %d again", id+1, now)
		}
		seen[now], last = true, now
	}
	s.view = &view.View{Epoch: 8, Members: s.view.Members}
	if now := ask(last, 10, 5); seen[now] {
		t.Fatalf("another view, and the epoch is %d again", now)
	}
}

// TestCurrentEpochFails checks that there is no epoch if a member does not answer.
func TestCurrentEpochFails(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, s, end := countedGraph(3)
		fails := func(what string, within time.Duration, asked int) {
			t.Helper()
			s.asked = 0
			for _, told := range []uint64{0, links.MinClusterEpoch + 1} {
				begun := time.Now()
				now, err := g.CurrentEpoch(t.Context(), told)
				if took := time.Since(begun); !errors.Is(err, store.ErrUnavailable) || now != 0 || took > within {
					t.Errorf("%s: %d, %v after %s", what, now, err, took)
				}
				if errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v: the caller did not give up", what, err)
				}
				if g.EpochOrZero(t.Context(), 0) != 0 {
					t.Errorf("%s: an epoch is returned", what)
				}
			}
			if s.asked > asked {
				t.Errorf("%s: %d messages", what, s.asked)
			}
		}
		s.silent = 2
		if now, err := g.CurrentEpoch(t.Context(), 0); err != nil || now == 0 {
			t.Errorf("a machine that is not heard of, and answers: %d, %v", now, err)
		}
		s.answer = func(ctx context.Context, _ uint64, of trie.MachineID) error {
			if of == 2 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		fails("a machine that is not heard of", silentTimeout, 12)
		s.silent = 0
		s.answer = func(_ context.Context, _ uint64, of trie.MachineID) error {
			if of == 3 {
				return errors.New("connection refused")
			}
			return nil
		}
		fails("a machine that is dead", 0, 12)
		s.answer = func(ctx context.Context, _ uint64, of trie.MachineID) error {
			if of == 3 {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}
		fails("a machine that hangs", epochTimeout, 12)
		s.answer = func(context.Context, uint64, trie.MachineID) error { return &peer.Refusal{Code: peer.CodeUnavailable} }
		fails("machines that refuse", epochRetryTimeout+epochTimeout, 10_000)

		// Another view comes meanwhile.
		refusals := 0
		s.answer = func(_ context.Context, epoch uint64, _ trie.MachineID) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if refusals++; refusals == 5 {
				s.view = &view.View{Epoch: epoch + 1, Members: s.view.Members}
			}
			if epoch == 7 {
				return &peer.Refusal{Code: peer.CodeEpoch, Epoch: 8}
			}
			return nil
		}
		now, err := g.CurrentEpoch(t.Context(), 0)
		if want := epochOf(s.view, []replica.JournalMark{s.marks[1], s.marks[2], s.marks[3]}); err != nil || now != want || s.view.Epoch != 8 {
			t.Errorf("%d, %v; want %d", now, err, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.CurrentEpoch(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		s.view = nil
		if _, err := g.CurrentEpoch(t.Context(), 0); !errors.Is(err, store.ErrUnavailable) {
			t.Error(err)
		}
		end(rowreader.ErrClosed)
		if _, err := g.CurrentEpoch(t.Context(), 0); !errors.Is(err, store.ErrClosed) {
			t.Error(err)
		}
	})
}
