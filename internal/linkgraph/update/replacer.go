// Replacing lists in a cluster: the primary of a page does it.

package update

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/read"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/trie"
)

// Replacer makes updates, and replaces lists as the primary of their pages.
type Replacer struct {
	*machine.Machine
	router   *route.Router
	assigner *assign.Assigner
	reader   *read.Reader
	writer   *Writer
	// Replacing is held by replacements of lists, by partition of the page. holds are those that are
	// kept for long replacements.
	Replacing [machine.NumPartitions]derived.Lock
	holds     holds
}

// NewReplacer returns a replacer without a replacement.
func NewReplacer(w *Writer) *Replacer {
	r := &Replacer{Machine: w.Machine, router: w.Router, assigner: w.Assigner, reader: w.Reader, writer: w}
	for i := range r.Replacing {
		r.Replacing[i] = derived.NewLock()
	}
	return r
}

// replace makes changes that depend on the present links. Each page has one primary under a view,
// which makes the changes one after the other, in writes that are fenced to the epoch of the view.
// It begins the epoch when all operations of earlier ones are committed. If two replacements of
// a list succeed, the list of the last one stays. A replacement that fails
// may leave some of its links.
func (r *Replacer) replace(ctx context.Context, changes []links.Change, result *links.UpdateResult) (err error) {
	for tries := 0; len(changes) > 0; tries++ {
		if tries > 0 {
			if err := r.router.WaitRetry(ctx, tries, err); err != nil {
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
			if failed := r.replaceAt(ctx, m, Hold{}, some, result); failed != nil {
				if !machine.MayPass(failed) {
					return failed
				}
				changes, err = append(changes, some...), failed
			}
		}
	}
	return nil
}

// replaceAt makes changes at a primary: a whole replacement, or a step of a long one.
func (r *Replacer) replaceAt(ctx context.Context, m trie.MachineID, h Hold, changes []links.Change, result *links.UpdateResult) error {
	if m == r.Node.MachineID() {
		if h.Token != 0 {
			return r.HoldHere(ctx, h, changes, result)
		}
		return r.replaceHere(ctx, changes, result)
	}
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false) // because URLs have many &
	if err := encoder.Encode(changes); err != nil {
		return err
	}
	a, err := r.router.Send(ctx, m, &route.Query{Kind: route.QueryReplace, Number: h.Token, Most: uint64(h.Step), Data: data.Bytes()})
	if err != nil {
		return err
	}
	var done links.UpdateResult
	if err := json.Unmarshal(a.Data, &done); err != nil {
		return fmt.Errorf("%w: %w", peer.ErrMessage, err)
	}
	result.Added += done.Added
	result.Deleted += done.Deleted
	result.Pages += done.Pages
	return nil
}

// primaryOf returns the machine that replaces the list of a page: this one while it is alone.
func (r *Replacer) primaryOf(page string) trie.MachineID {
	if v := r.Node.View(); v != nil {
		return r.PlacementOf(v).Primary(machine.PartitionOfURL(page))
	}
	return r.Node.MachineID()
}

// replaceHere makes changes as the primary of their sources.
func (r *Replacer) replaceHere(ctx context.Context, changes []links.Change, done *links.UpdateResult) error {
	set := SourcesOf(changes)
	unlock, err := r.LockReplacing(ctx, set)
	if err != nil {
		return err
	}
	defer unlock()
	return r.updateFenced(ctx, set, changes, done)
}

// SourcesOf returns the partitions of the sources of changes.
func SourcesOf(changes []links.Change) (set derived.Partitions) {
	for i := range changes {
		set = set.With(machine.PartitionOfURL(changes[i].Source))
	}
	return set
}

// LockReplacing locks the replacements of partitions: those of one partition take turns.
func (r *Replacer) LockReplacing(ctx context.Context, set derived.Partitions) (unlock func(), err error) {
	var unlocks []func()
	unlock = func() {
		for _, f := range unlocks {
			f()
		}
	}
	for i := range set.All() {
		one, err := r.Replacing[i].Lock(ctx)
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
func (r *Replacer) updateFenced(ctx context.Context, set derived.Partitions, changes []links.Change, done *links.UpdateResult) error {
	unlock, err := r.assigner.Assigning.Lock(ctx)
	if err != nil {
		return err
	}
	fenced, err := r.assigner.BeginTerm(ctx, set)
	unlock()
	if err != nil {
		return err
	}
	return r.writer.updateHere(fenced, changes, done)
}

// AnswerReplace answers a query for a replacement, or for a step of a long one.
func (r *Replacer) AnswerReplace(ctx context.Context, q *route.Query) (*route.Answer, error) {
	var changes []links.Change
	if err := json.Unmarshal(q.Data, &changes); err != nil {
		return nil, fmt.Errorf("%w: %w", peer.ErrMessage, err)
	}
	var done links.UpdateResult
	var err error
	if q.Number == 0 {
		err = r.replaceHere(ctx, changes, &done)
	} else {
		err = r.HoldHere(ctx, Hold{q.Number, holdStep(q.Most)}, changes, &done)
	}
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(done)
	return &route.Answer{Data: data}, err
}

// Update implements links.Graph.
func (r *Replacer) Update(ctx context.Context, changes []links.Change) (result links.UpdateResult, err error) {
	// 1. Check everything before anything is written.
	for i := range changes {
		if err := edits.Check(&changes[i]); err != nil {
			return result, fmt.Errorf("change %d: %w", i, err)
		}
	}
	if err := r.writer.mayGrow(changes); err != nil {
		return result, err
	}
	// 2. Write the labels of pages, and the other changes in parts.
	if changes, err = r.writer.labelPages(ctx, changes, &result); err != nil {
		return result, err
	}
	for len(changes) > 0 {
		n := r.writer.fittingPrefix(changes)
		if n == 0 {
			if err := r.updateLong(ctx, &changes[0], &result); err != nil {
				return result, err
			}
			changes = changes[1:]
			continue
		}
		if err := r.update(ctx, changes[:n], &result); err != nil {
			return result, err
		}
		changes = changes[n:]
	}
	// 3. The epoch must include them.
	if result.Epoch, err = r.reader.CurrentEpoch(ctx, 0); err != nil {
		return result, fmt.Errorf("the changes are durable, and not seen by readers yet: %w", err)
	}
	return result, nil
}

// update makes changes. If they depend on the present links, the primaries of their sources make
// them.
func (r *Replacer) update(ctx context.Context, changes []links.Change, result *links.UpdateResult) error {
	switch {
	case !edits.Reads(changes):
		return r.writer.updateHere(ctx, changes, result)
	case r.Node.Lone() != nil:
		return r.replaceHere(ctx, changes, result)
	}
	return r.replace(ctx, changes, result)
}

// updateLong makes a change of very many links, in parts: readers may see some before others.
func (r *Replacer) updateLong(ctx context.Context, c *links.Change, result *links.UpdateResult) error {
	if c.Kind == links.ReplaceLinks {
		return r.replaceLong(ctx, c, result)
	}
	for part := range r.writer.partsOf(c) {
		if err := r.update(ctx, []links.Change{part}, result); err != nil {
			return err
		}
	}
	return nil
}
