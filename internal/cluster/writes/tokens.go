// Idempotency: if a request is sent again, through any member and after failures, it is done
// once.

package writes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// A holder keeps the tokens of operations beside their rows for store.TokenTime. So every holder
// of an operation has its token, and a sequencer has the tokens of all operations it stamped. If
// the sequencer of a triple has changed, the new one must ask all members. It can miss an
// operation only if all of its holders were excluded within TokenTime. Begun can also miss one if
// its holders do not answer.

// remembrance is the state of a token on a machine.
type remembrance byte

const (
	unheard remembrance = iota
	settled             // its operation was done
	pending             // its operation is under way
)

// maxTokens bounds the tokens of one message.
const maxTokens = 1 << 20

// Claim records durably that the request of ctx begins. It does nothing if the request has no
// key. It uses the machines of a triple which never exists. It returns [store.ErrBegun] if the
// request began before.
func (w *Writes) Claim(ctx context.Context) error {
	key := store.RequestKeyOf(ctx)
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
	x.run(store.OperationClaim, []triple.Triple{t})
	x.running.Wait()
	if err := x.result(); err != nil {
		return err
	}
	if x.unchanged > 0 {
		return store.ErrBegun
	}
	return nil
}

// named reports whether an operation has a token.
func named(operations []replica.Operation) bool {
	return slices.ContainsFunc(operations, func(o replica.Operation) bool { return o.Token != store.Token{} })
}

// Begun reports whether a member remembers the claim of the request of ctx. If this is the first
// try of the request, it sends no message. If no answering member remembers the claim and too
// many do not answer, it returns an error, because all holders of the claim may be among them.
func (w *Writes) Begun(ctx context.Context) (begun bool, err error) {
	key, v := store.RequestKeyOf(ctx), w.member.View()
	if key == nil || key.First || v == nil {
		return false, nil
	}
	// 1. This machine, then all others.
	token := key.Claim()
	own, err := w.recall([]store.Token{token})
	if err != nil || own[0] != byte(unheard) {
		return err == nil, err
	}
	silent := 0
	w.askMembers(ctx, v, []store.Token{token}, func(m trie.MachineID, found []remembrance, failed error) {
		begun = begun || failed == nil && found[0] != unheard
		if failed != nil {
			silent, err = silent+1, fmt.Errorf("machine %s: %w", m, failed)
		}
	})
	copies := min(cmp.Or(v.Base.Copies, recovery.DefaultCopies), cmp.Or(v.Target.Copies, recovery.DefaultCopies))
	// 2. The answer is certain only if fewer than copies - 1 are silent, because one holder of
	// the claim may have been replaced: its successor answers without the claim.
	if begun || silent < max(1, copies-1) {
		return begun, nil
	}
	return false, fmt.Errorf("%d machines do not report whether the request was begun before: %w", silent, err)
}

// askMembers asks all other members at the same time for their states of tokens. It calls each for
// one answer at a time, and returns when all have answered or failed.
func (w *Writes) askMembers(ctx context.Context, v *view.View, tokens []store.Token, each func(m trie.MachineID, found []remembrance, failed error)) {
	body := peer.Encode(16+16*len(tokens), codeTokens(&v.Epoch, &tokens))
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, m := range v.Members {
		if m.ID == w.self.Machine {
			continue
		}
		asking.Go(func() {
			found, failed := w.askMember(ctx, m.ID, body, len(tokens))
			mu.Lock()
			defer mu.Unlock()
			each(m.ID, found, failed)
		})
	}
	asking.Wait()
}

// askTokens returns true for each operation another member remembers. It returns nil if it need
// not ask, because this view is older than store.TokenTime or no operation has a token. After an
// error nothing was done.
func (w *Writes) askTokens(ctx context.Context, v *view.View, operations []replica.Operation) (known []bool, err error) {
	w.mu.Lock()
	recent := w.era == nil || w.era.view != v || time.Since(w.era.began) < store.TokenTime
	w.mu.Unlock()
	if !recent || !named(operations) {
		return nil, nil
	}
	tokens := make([]store.Token, len(operations))
	for i := range operations {
		tokens[i] = operations[i].Token
	}
	known = make([]bool, len(operations))
	w.askMembers(ctx, v, tokens, func(m trie.MachineID, found []remembrance, failed error) {
		if failed != nil && err == nil {
			err = peer.Refuse(peer.CodeUnavailable, v.Epoch, "machine %s does not report whether the request was done before: %v", m, failed)
		}
		for i, f := range found {
			switch {
			case f == pending && err == nil:
				err = peer.Refuse(peer.CodeUnavailable, v.Epoch, "an earlier try of the request is under way on machine %s", m)
			case f == settled:
				known[i] = true
			}
		}
	})
	return known, err
}

// askMember asks one member, and checks its answer.
func (w *Writes) askMember(ctx context.Context, m trie.MachineID, body []byte, count int) ([]remembrance, error) {
	ctx, cancel := context.WithTimeout(ctx, w.options.Attempt)
	defer cancel()
	body, err := w.member.Call(ctx, m, methodTokens, body)
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

// handleTokens answers writes/tokens. It does so within the gate, because then every delivery of
// older views is in the store or never will be.
func (w *Writes) handleTokens(_ context.Context, body []byte) ([]byte, error) {
	var epoch uint64
	var tokens []store.Token
	if err := peer.Decode(body, codeTokens(&epoch, &tokens)); err != nil {
		return nil, malformed(err)
	}
	leave, err := w.member.Enter(epoch)
	if err != nil {
		return nil, err
	}
	defer leave()
	return w.recall(tokens)
}

// recall returns the remembrance of each token on this machine.
func (w *Writes) recall(tokens []store.Token) ([]byte, error) {
	out := make([]byte, len(tokens))
	// 1. Operations in flight must come before stored ones: if one is committed in between, it is
	// stored.
	left := w.foreignTokens()
	w.mu.Lock()
	for i, t := range tokens {
		if left[t] || w.tokens[t] != nil {
			out[i] = byte(pending)
		}
	}
	w.mu.Unlock()
	// 2. Stored ones.
	done, err := w.store.HasTokens(tokens)
	if err != nil {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "look up tokens: %v", err)
	}
	for i := range done {
		if done[i] && out[i] != byte(pending) {
			out[i] = byte(settled)
		}
	}
	return out, nil
}
