// Replacing lists in a cluster: the primary of a page does it.

package linkgraph

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/trie"
)

// replace makes changes that depend on the present links. Each page has one primary under a view,
// which makes the changes one after the other, in writes that are fenced to the epoch of the view.
// It begins the epoch when all operations of earlier ones are committed. If two replacements of
// a list succeed, the list of the last one stays. A replacement that fails
// may leave some of its links.
func (g *Graph) replace(ctx context.Context, changes []links.Change, result *links.UpdateResult) (err error) {
	for tries := 0; len(changes) > 0; tries++ {
		if tries > 0 {
			if err := g.waitRetry(ctx, tries, err); err != nil {
				return err
			}
		}
		// 1. Group the changes by primary. The order of those of a source stays.
		groups := map[trie.MachineID][]links.Change{}
		v := g.node.View()
		for _, c := range changes {
			m := g.node.MachineID()
			if v != nil {
				m = g.placementOf(v).primary(partitionOfURL(c.Source))
			}
			groups[m] = append(groups[m], c)
		}
		// 2. Make them. What fails is repeated, which is safe because it leaves the same list.
		changes, err = nil, nil
		for m, some := range groups {
			done, failed := g.replaceAt(ctx, m, some)
			result.Added += done.Added
			result.Deleted += done.Deleted
			result.Pages += done.Pages
			if failed != nil {
				if !mayPass(failed) {
					return failed
				}
				changes, err = append(changes, some...), failed
			}
		}
	}
	return nil
}

// replaceAt makes changes at a primary.
func (g *Graph) replaceAt(ctx context.Context, m trie.MachineID, changes []links.Change) (done links.UpdateResult, err error) {
	if m == g.node.MachineID() {
		return done, g.replaceHere(ctx, changes, &done)
	}
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false) // because URLs have many &
	if err := encoder.Encode(changes); err != nil {
		return done, err
	}
	a, err := g.send(ctx, m, &query{kind: askReplace, data: data.Bytes()})
	if err != nil {
		return done, err
	}
	if err := json.Unmarshal(a.data, &done); err != nil {
		return done, fmt.Errorf("%w: %w", peer.ErrMessage, err)
	}
	return done, nil
}

// replaceHere makes changes as the primary of their sources.
func (g *Graph) replaceHere(ctx context.Context, changes []links.Change, done *links.UpdateResult) error {
	var set partitionSet
	for i := range changes {
		set = set.with(partitionOfURL(changes[i].Source))
	}
	// 1. The changes of a partition take turns.
	for i := range set.all() {
		unlock, err := g.replacing[i].lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
	}
	// 2. Begin the epoch.
	unlock, err := g.assigning.lock(ctx)
	if err != nil {
		return err
	}
	fenced, err := g.beginTerm(ctx, set)
	unlock()
	if err != nil {
		return err
	}
	return g.updateHere(fenced, changes, done)
}

// answerReplace answers a query for a replacement.
func (g *Graph) answerReplace(ctx context.Context, q *query) (*answer, error) {
	var changes []links.Change
	if err := json.Unmarshal(q.data, &changes); err != nil {
		return nil, fmt.Errorf("%w: %w", peer.ErrMessage, err)
	}
	var done links.UpdateResult
	if err := g.replaceHere(ctx, changes, &done); err != nil {
		return nil, err
	}
	data, err := json.Marshal(done)
	return &answer{data: data}, err
}
