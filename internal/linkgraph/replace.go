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

// replacer makes updates, and replaces lists as the primary of their pages.
type replacer struct {
	*machine
	router   *router
	assigner *assigner
	reader   *reader
	writer   *writer
	// replacing is held by replacements of lists, by partition of the page. holds are those that are
	// kept for long replacements.
	replacing [numPartitions]lock
	holds     holds
}

// newReplacer returns a replacer without a replacement.
func newReplacer(w *writer) *replacer {
	r := &replacer{machine: w.machine, router: w.router, assigner: w.assigner, reader: w.reader, writer: w}
	for i := range r.replacing {
		r.replacing[i] = newLock()
	}
	return r
}

// replace makes changes that depend on the present links. Each page has one primary under a view,
// which makes the changes one after the other, in writes that are fenced to the epoch of the view.
// It begins the epoch when all operations of earlier ones are committed. If two replacements of
// a list succeed, the list of the last one stays. A replacement that fails
// may leave some of its links.
func (r *replacer) replace(ctx context.Context, changes []links.Change, result *links.UpdateResult) (err error) {
	for tries := 0; len(changes) > 0; tries++ {
		if tries > 0 {
			if err := r.router.waitRetry(ctx, tries, err); err != nil {
				return err
			}
		}
		// 1. Group the changes by primary. The order of those of a source stays.
		groups := map[trie.MachineID][]links.Change{}
		for _, c := range changes {
			m := r.primaryOf(c.Source)
			groups[m] = append(groups[m], c)
		}
		// 2. Make them. What fails is repeated, which is safe because it leaves the same list.
		changes, err = nil, nil
		for m, some := range groups {
			if failed := r.replaceAt(ctx, m, hold{}, some, result); failed != nil {
				if !mayPass(failed) {
					return failed
				}
				changes, err = append(changes, some...), failed
			}
		}
	}
	return nil
}

// replaceAt makes changes at a primary: a whole replacement, or a step of a long one.
func (r *replacer) replaceAt(ctx context.Context, m trie.MachineID, h hold, changes []links.Change, result *links.UpdateResult) error {
	if m == r.node.MachineID() {
		if h.token != 0 {
			return r.holdHere(ctx, h, changes, result)
		}
		return r.replaceHere(ctx, changes, result)
	}
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false) // because URLs have many &
	if err := encoder.Encode(changes); err != nil {
		return err
	}
	a, err := r.router.send(ctx, m, &query{kind: askReplace, number: h.token, most: uint64(h.step), data: data.Bytes()})
	if err != nil {
		return err
	}
	var done links.UpdateResult
	if err := json.Unmarshal(a.data, &done); err != nil {
		return fmt.Errorf("%w: %w", peer.ErrMessage, err)
	}
	result.Added += done.Added
	result.Deleted += done.Deleted
	result.Pages += done.Pages
	return nil
}

// primaryOf returns the machine that replaces the list of a page: this one while it is alone.
func (r *replacer) primaryOf(page string) trie.MachineID {
	if v := r.node.View(); v != nil {
		return r.placementOf(v).primary(partitionOfURL(page))
	}
	return r.node.MachineID()
}

// replaceHere makes changes as the primary of their sources.
func (r *replacer) replaceHere(ctx context.Context, changes []links.Change, done *links.UpdateResult) error {
	set := sourcesOf(changes)
	unlock, err := r.lockReplacing(ctx, set)
	if err != nil {
		return err
	}
	defer unlock()
	return r.updateFenced(ctx, set, changes, done)
}

// sourcesOf returns the partitions of the sources of changes.
func sourcesOf(changes []links.Change) (set partitionSet) {
	for i := range changes {
		set = set.with(partitionOfURL(changes[i].Source))
	}
	return set
}

// lockReplacing locks the replacements of partitions: those of one partition take turns.
func (r *replacer) lockReplacing(ctx context.Context, set partitionSet) (unlock func(), err error) {
	var unlocks []func()
	unlock = func() {
		for _, f := range unlocks {
			f()
		}
	}
	for i := range set.all() {
		one, err := r.replacing[i].lock(ctx)
		if err != nil {
			unlock()
			return nil, err
		}
		unlocks = append(unlocks, one)
	}
	return unlock, nil
}

// updateFenced makes changes as the primary of partitions, in the epoch of its view. The caller must
// have the locks of their replacements.
func (r *replacer) updateFenced(ctx context.Context, set partitionSet, changes []links.Change, done *links.UpdateResult) error {
	unlock, err := r.assigner.assigning.lock(ctx)
	if err != nil {
		return err
	}
	fenced, err := r.assigner.beginTerm(ctx, set)
	unlock()
	if err != nil {
		return err
	}
	return r.writer.updateHere(fenced, changes, done)
}

// answerReplace answers a query for a replacement, or for a step of a long one.
func (r *replacer) answerReplace(ctx context.Context, q *query) (*answer, error) {
	var changes []links.Change
	if err := json.Unmarshal(q.data, &changes); err != nil {
		return nil, fmt.Errorf("%w: %w", peer.ErrMessage, err)
	}
	var done links.UpdateResult
	var err error
	if q.number == 0 {
		err = r.replaceHere(ctx, changes, &done)
	} else {
		err = r.holdHere(ctx, hold{q.number, holdStep(q.most)}, changes, &done)
	}
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(done)
	return &answer{data: data}, err
}
