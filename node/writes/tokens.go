// This file lets a request that is sent again, through whatever node and after whatever
// failures, be done once: sequencers remember the tokens of operations, and ask the others
// while those may know more.

package writes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// A holder keeps the tokens of operations beside their rows (node.TokenTime). So an
// operation that is on some machine has its token there, and its sequencer has the tokens
// of all that it has stamped. If the sequencer of a triple has become another one since,
// the new one asks all members. It can miss an operation only if all machines that held it
// then are excluded by now, or for Begun also silent, which takes as many losses as there
// are copies within TokenTime.

// remembrance is what a machine knows of a token.
type remembrance byte

const (
	unheard remembrance = iota
	settled             // its operation was done
	pending             // its operation is under way
)

// maxTokens bounds the tokens of one message.
const maxTokens = 1 << 20

// Claim notes durably, on the machines of a triple that is never there, that the request
// of ctx begins, unless it has no key. It returns [node.ErrBegun] if it began before.
func (w *Writes) Claim(ctx context.Context) error {
	key := node.RequestKeyOf(ctx)
	if key == nil {
		return nil
	}
	token := key.Claim()
	t := triple.Triple{
		Subject:   triple.NewIRI(fmt.Sprintf("urn:trefoil:request:%x", token[:])),
		Predicate: triple.NewIRI("urn:trefoil:claim"),
		Object:    triple.NewString(""),
	}
	x := w.newWriting(ctx, 1)
	x.run(node.OperationClaim, []triple.Triple{t})
	x.running.Wait()
	if err := x.result(); err != nil {
		return err
	}
	if x.unchanged > 0 {
		return node.ErrBegun
	}
	return nil
}

// named reports whether an operation has a token.
func named(operations []node.Operation) bool {
	return slices.ContainsFunc(operations, func(o node.Operation) bool { return o.Token != node.Token{} })
}

// Begun reports whether the request of ctx has claimed its key, as far as any member
// remembers. It asks nobody if the request was not sent before. It returns an error if no
// member that answers remembers the claim, and all machines that hold it may be among those
// that do not answer.
func (w *Writes) Begun(ctx context.Context) (begun bool, err error) {
	key, v := node.RequestKeyOf(ctx), w.cluster.View()
	if key == nil || key.First || v == nil {
		return false, nil
	}
	token := key.Claim()
	own, err := w.recall([]node.Token{token})
	if err != nil || own[0] != byte(unheard) {
		return err == nil, err
	}
	silent := 0
	w.askMembers(ctx, v, []node.Token{token}, func(m trie.MachineID, found []remembrance, failed error) {
		begun = begun || failed == nil && found[0] != unheard
		if failed != nil {
			silent, err = silent+1, fmt.Errorf("machine %s: %w", m, failed)
		}
	})
	copies := min(cmp.Or(v.Base.Copies, recovery.DefaultCopies), cmp.Or(v.Target.Copies, recovery.DefaultCopies))
	if begun || silent < copies {
		return begun, nil
	}
	return false, fmt.Errorf("%d machines do not say whether the request was begun before: %w", silent, err)
}

// askMembers asks the other members at once what they know of tokens. It calls each with
// one answer after the other, and returns when all have answered or failed.
func (w *Writes) askMembers(ctx context.Context, v *view.View, tokens []node.Token, each func(m trie.MachineID, found []remembrance, failed error)) {
	e := peer.NewEncoder(16 + 16*len(tokens))
	e.Uvarint(v.Epoch)
	e.Uvarint(uint64(len(tokens)))
	for _, t := range tokens {
		encodeToken(e, t)
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, m := range v.Members {
		if m.ID == w.self {
			continue
		}
		asking.Go(func() {
			found, failed := w.askMember(ctx, m.ID, e.Data(), len(tokens))
			mu.Lock()
			defer mu.Unlock()
			each(m.ID, found, failed)
		})
	}
	asking.Wait()
}

// askTokens asks the other members which operations were done before; nil says that there
// is nothing to ask. An error says that nothing was done.
func (w *Writes) askTokens(ctx context.Context, v *view.View, operations []node.Operation) (known []bool, err error) {
	w.mu.Lock()
	recent := w.era == nil || w.era.view != v || time.Since(w.era.began) < node.TokenTime
	w.mu.Unlock()
	if !recent || !named(operations) {
		return nil, nil
	}
	tokens := make([]node.Token, len(operations))
	for i := range operations {
		tokens[i] = operations[i].Token
	}
	known = make([]bool, len(operations))
	w.askMembers(ctx, v, tokens, func(m trie.MachineID, found []remembrance, failed error) {
		if failed != nil && err == nil {
			err = refuse(peer.CodeUnavailable, v.Epoch, "machine %s does not say whether the request was done before: %v", m, failed)
		}
		for i, f := range found {
			switch {
			case f == pending && err == nil:
				err = refuse(peer.CodeUnavailable, v.Epoch, "an earlier try of the request is under way on machine %s", m)
			case f == settled:
				known[i] = true
			}
		}
	})
	return known, err
}

func (w *Writes) askMember(ctx context.Context, m trie.MachineID, body []byte, count int) ([]remembrance, error) {
	ctx, cancel := context.WithTimeout(ctx, w.options.Attempt)
	defer cancel()
	body, err := w.cluster.Call(ctx, m, methodTokens, body)
	if err != nil {
		return nil, err
	}
	if len(body) != count {
		return nil, fmt.Errorf("%w: %d answers for %d tokens", peer.ErrMessage, len(body), count)
	}
	found := make([]remembrance, count)
	for i, b := range body {
		if found[i] = remembrance(b); found[i] > pending {
			return nil, fmt.Errorf("%w: remembrance %d", peer.ErrMessage, b)
		}
	}
	return found, nil
}

// handleTokens answers within the gate, so that all that was addressed under older views
// is in the store, or never will be.
func (w *Writes) handleTokens(_ context.Context, body []byte) ([]byte, error) {
	d := peer.NewDecoder(body)
	epoch := d.Uvarint()
	tokens := make([]node.Token, min(d.Count(16), maxTokens))
	for i := range tokens {
		tokens[i] = decodeToken(d)
	}
	if err := d.End(); err != nil {
		return nil, malformed(err)
	}
	leave, err := w.cluster.Enter(epoch)
	if err != nil {
		return nil, err
	}
	defer leave()
	return w.recall(tokens)
}

// recall returns what this machine knows of tokens, a remembrance for each.
func (w *Writes) recall(tokens []node.Token) ([]byte, error) {
	out := make([]byte, len(tokens))
	// First what is under way, then what is stored: what is settled meanwhile is there.
	left := w.foreignTokens()
	w.mu.Lock()
	for i, t := range tokens {
		if left[t] || w.tokens[t] != nil {
			out[i] = byte(pending)
		}
	}
	w.mu.Unlock()
	done, err := w.store.HasTokens(tokens)
	if err != nil {
		return nil, refuse(peer.CodeUnavailable, 0, "look up tokens: %v", err)
	}
	for i := range done {
		if done[i] && out[i] != byte(pending) {
			out[i] = byte(settled)
		}
	}
	return out, nil
}
