// Commits that the feed delivers in parts.

package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	*feedtest.Tap
}

func (n tapped) Feed() feed.Source { return n.Tap }

// TestLargeCommits: a receiver that applies what is delivered has the triples of the store, whatever part the feed
// fails at.
func TestLargeCommits(t *testing.T) { bubble.Test(t, largeCommits) }

func largeCommits(t *testing.T) {
	w := newWorld(t)
	word := func(i int) triple.Term { return triple.NewString(fmt.Sprint("word ", i)) }
	feedtest.Follower(t, w.store, word, func(s *feedtest.Source) feedtest.Consumer {
		node := tapped{w.store, &feedtest.Tap{Source: s}}
		w.registry.Store = node
		w.registry.Filter = func(map[string]string) (f feed.Filter, err error) {
			f.Pattern.Predicate = triple.NewIRI(feedtest.Predicate)
			return f, nil
		}
		m := w.start(Options{BatchBytes: 1000})
		w.put("words", nil)
		return feedtest.Consumer{
			Follow: func(ctx context.Context) error {
				node.SetError(nil)
				end, err := s.Position(ctx)
				for err == nil && !m.reached("words", end) {
					time.Sleep(time.Millisecond) // of the bubble's clock
					err = node.SetError(nil)
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
