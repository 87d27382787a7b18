// The change feed in a view: back to which epoch it is complete.

package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/trie"
)

// Each operation is in the logs of all machines that must have it before it is committed. Backfills
// copy rows and no logs. So an operation is in no log if as many machines have left since its epoch
// as it had copies, whether they failed or left as planned. The view counts this, because no machine
// can know what it never had.

// Feed is what the view records for the change feed.
type Feed struct {
	// Source identifies the store in positions of the feed.
	Source uint64 `json:"source"`
	// Horizon is the first epoch whose changes, and all later ones, are in the logs of members.
	// Reason says why earlier ones may not be.
	Horizon uint64 `json:"horizon"`
	Reason  string `json:"reason"`
	// Founder is the machine with the log of the lone store that became the cluster; 0 if it has
	// left. Began is the first epoch of the cluster.
	Founder trie.MachineID `json:"founder,omitempty"`
	Began   uint64         `json:"began,omitempty"`
	// Departures are the machines that have left in epochs after Horizon, ascending by epoch.
	Departures []Departure `json:"departures,omitempty"`
	// Copies are the numbers of machines that hold each operation, by the epoch from which on they
	// hold. The first one holds at Horizon.
	Copies []FeedCopies `json:"copies"`
}

// Departure is a machine that is not a member from an epoch on. It may have joined again since.
type Departure struct {
	Machine trie.MachineID `json:"machine"`
	Epoch   uint64         `json:"epoch"`
}

// FeedCopies is a number of machines that hold each operation, from an epoch on.
type FeedCopies struct {
	Epoch  uint64 `json:"epoch"`
	Copies int    `json:"copies"`
}

// maxFeedCopies bounds the changes of the number of copies in a view.
const maxFeedCopies = 64

// beginFeed begins the feed if it has not begun yet.
func (v *View) beginFeed() {
	if v.Feed == nil {
		v.Feed = &Feed{Source: FeedSource(v.ClusterID), Horizon: v.Epoch, Reason: "the cluster keeps changes since then"}
	}
}

// FeedSource returns the identity of a feed that began with a cluster.
func FeedSource(clusterID string) uint64 { return max(xxhash.Sum64String(clusterID), 1) }

// clone returns a copy that may be changed.
func (f *Feed) clone() *Feed {
	if f == nil {
		return nil
	}
	n := *f
	n.Departures, n.Copies = slices.Clone(f.Departures), slices.Clone(f.Copies)
	return &n
}

// depart records that a machine leaves in the epoch of v. A spare has no log.
func (v *View) depart(id trie.MachineID) {
	m := v.Find(id)
	if v.Feed == nil || m == nil || m.State == Spare {
		return
	}
	v.Feed.Departures = append(v.Feed.Departures, Departure{id, v.Epoch})
	if v.Feed.Founder == id {
		v.Feed.Founder = 0
	}
}

// cutFeed makes the epoch of v the first one whose changes are complete.
func (v *View) cutFeed(reason string) {
	if v.Feed != nil {
		v.Feed.Horizon, v.Feed.Reason = v.Epoch, reason
	}
}

// updateFeed completes a change of the feed: it records the number of copies, and moves the horizon.
func (v *View) updateFeed() {
	f := v.Feed
	if f == nil {
		return
	}
	// 1. The number of copies from this epoch on: the target's places are all live.
	if copies, n := v.Target.Required(), len(f.Copies); n == 0 || f.Copies[n-1].Copies != copies {
		f.Copies = append(f.Copies, FeedCopies{v.Epoch, copies})
	}
	if n := len(f.Copies) - maxFeedCopies; n > 0 && f.Copies[n].Epoch > f.Horizon {
		f.Horizon, f.Reason = f.Copies[n].Epoch, "the number of copies has changed too often since"
	}
	// 2. Move the horizon behind epochs of which all copies may be gone.
	for {
		departed, copies, complete := f.completeSince(f.Horizon)
		if complete {
			break
		}
		f.Horizon = f.nextCandidate(v.Epoch)
		f.Reason = fmt.Sprintf("%d machines have left the cluster since, and changes were on %d", departed, copies)
	}
	// 3. Drop what is before the horizon.
	f.Departures = slices.DeleteFunc(f.Departures, func(d Departure) bool { return d.Epoch <= f.Horizon })
	if at := f.copiesAt(f.Horizon); at > 0 {
		f.Copies = f.Copies[at:]
	}
	f.Copies[0].Epoch = min(f.Copies[0].Epoch, f.Horizon)
}

// completeSince reports whether the operations of an epoch and of all later ones are complete: more copies of
// each than machines have left since. If not, it returns both numbers. Within epochs of one number of
// copies the first one has the most departures.
func (f *Feed) completeSince(epoch uint64) (departed, copies int, complete bool) {
	for _, c := range f.Copies[f.copiesAt(epoch):] {
		departed = 0
		for _, d := range f.Departures {
			if d.Epoch > max(c.Epoch, epoch) {
				departed++
			}
		}
		if departed >= c.Copies {
			return departed, c.Copies, false
		}
	}
	return 0, 0, true
}

// copiesAt returns the index of the number of copies in an epoch.
func (f *Feed) copiesAt(epoch uint64) int {
	at, ok := slices.BinarySearchFunc(f.Copies, epoch, func(c FeedCopies, epoch uint64) int { return cmp.Compare(c.Epoch, epoch) })
	if !ok {
		at--
	}
	return max(at, 0)
}

// nextCandidate returns the first epoch after the horizon in which a machine left or the number of
// copies changed. None is greater than the present one.
func (f *Feed) nextCandidate(present uint64) uint64 {
	next := present
	for _, d := range f.Departures {
		if d.Epoch > f.Horizon {
			next = min(next, d.Epoch)
		}
	}
	for _, c := range f.Copies {
		if c.Epoch > f.Horizon {
			next = min(next, c.Epoch)
		}
	}
	return next
}

// HasLog reports whether a machine is a member with a log that reaches back to an epoch, as far as
// the machine was a member then.
func (v *View) HasLog(id trie.MachineID, epoch uint64) bool {
	return v.Find(id) != nil && !slices.ContainsFunc(v.Feed.Departures, func(d Departure) bool { return d.Machine == id && d.Epoch > epoch })
}
