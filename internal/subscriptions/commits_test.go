// Commits that the feed delivers in parts.

package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/triple"
)

// tapped is a store whose feed a test watches.
type tapped struct {
	Store
	feed feed.Source

	mu     sync.Mutex
	failed error
}

func (n *tapped) Feed() feed.Source { return n }

func (n *tapped) Position(ctx context.Context) (feed.Position, error) { return n.feed.Position(ctx) }

func (n *tapped) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		for b, err := range n.feed.Changes(ctx, r) {
			if err != nil && ctx.Err() == nil {
				n.fail(err)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// fail sets the error of the feed, and returns the one before.
func (n *tapped) fail(err error) (last error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	last, n.failed = n.failed, err
	return last
}

// TestLargeCommits: a receiver that applies what is delivered has the triples of the store, whatever part the feed
// fails at.
func TestLargeCommits(t *testing.T) { bubble.Test(t, largeCommits) }

func largeCommits(t *testing.T) {
	w := newWorld(t)
	word := func(i int) triple.Term { return triple.NewString(fmt.Sprint("word ", i)) }
	feedtest.Follower(t, w.store, word, func(s *feedtest.Source) feedtest.Consumer {
		node := &tapped{Store: w.store, feed: s}
		w.registry.Store = node
		w.registry.Filter = func(map[string]string) (f feed.Filter, err error) {
			f.Pattern.Predicate = triple.NewIRI(feedtest.Predicate)
			return f, nil
		}
		m := w.start(Options{BatchBytes: 1000})
		w.put("words", nil)
		return feedtest.Consumer{
			Follow: func(ctx context.Context) error {
				node.fail(nil)
				end, err := s.Position(ctx)
				for err == nil && !m.reached("words", end) {
					time.Sleep(time.Millisecond) // of the bubble's clock
					err = node.fail(nil)
				}
				return err
			},
			Objects: func(context.Context) (list []triple.Term, err error) {
				set := map[string]bool{}
				for _, line := range w.receiver.of("words") {
					switch kind, text, _ := strings.Cut(line, " "); kind {
					case "clear":
						clear(set)
					case "add":
						set[text] = true
					case "delete":
						delete(set, text)
					default:
						err = errors.Join(err, fmt.Errorf("the receiver has got %q", line))
					}
				}
				for text := range set {
					list = append(list, triple.NewString(text))
				}
				return list, err
			},
			Restart: func() {
				m.Close()
				m = w.start(Options{BatchBytes: 1000})
			},
		}
	})
}

// reached reports whether the follower and a subscription have reached a position.
func (m *Manager) reached(name string, end feed.Position) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.names[name]
	return s != nil && s.loaded && !s.due && !s.running && m.position.Reaches(end)
}
