// When positions must be stored, so that the feed still reaches back to them.

package subscriptions

import (
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
)

// moment is a time, and the bytes that the follower has read until then.
type moment struct {
	time     time.Time
	followed int64
}

func (m *Manager) currentMoment() moment { return moment{time.Now(), m.followed.Load()} }

// leaving reports whether the feed may soon no longer reach back to a position that was stored at a
// moment.
func (m *Manager) leaving(stored moment) bool {
	now := m.currentMoment()
	return now.time.Sub(stored.time) > m.SaveEvery || now.followed-stored.followed >= m.SaveBytes
}

// sizeOf returns the bytes of a change in the feed, about.
func sizeOf(c *feed.Change) int64 {
	n := len(c.Key) + len(c.Long)
	if c.Annotation != nil {
		n += len(c.Annotation.Data)
	}
	return int64(n)
}

// isState reports whether a change stores a state, of a subscription or of an update function.
func isState(c *feed.Change) bool {
	return c.Kind == feed.Annotate && c.Annotation.ApplicationID == appState
}
