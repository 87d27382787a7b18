// Idempotency: if a request is sent again, through any member and after failures, it is done
// once.

package writes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// A holder keeps the tokens of operations beside their rows for store.TokenTime. So every holder
// of an operation has its token, and a sequencer has the tokens of all operations it stamped. If
// the sequencer of a triple has changed, the new one must query all members. It can miss an
// operation only if all of its holders were excluded within TokenTime. Begun can also miss one if
// its holders do not answer.

// tokenLookup finds out which operations were done before, by their tokens.
type tokenLookup struct {
	*common
	flight *inFlight
}

// tokenState is the state of a token on a machine.
type tokenState byte

const (
	tokenUnknown tokenState = iota
	tokenDone               // its operation was done
	tokenPending            // its operation is under way
	tokenStored             // the same, and this machine has sent it to all its holders, which have it
)

// maxTokens bounds the tokens of one message.
const maxTokens = 1 << 20

// haveTokens reports whether an operation has a token.
func haveTokens(operations []replica.Operation) bool {
	return slices.ContainsFunc(operations, func(o replica.Operation) bool { return o.Token != store.Token{} })
}

// Begun reports whether a member remembers the claim of the request of ctx. If this is the first
// try of the request, it sends no message. If no answering member remembers the claim and too
// many do not answer, it returns an error, because all holders of the claim may be among them.
func (tl *tokenLookup) Begun(ctx context.Context) (begun bool, err error) {
	key, v := store.RequestKeyOf(ctx), tl.member.View()
	if key == nil || key.First || v == nil {
		return false, nil
	}
	// 1. This machine, then all others.
	token := key.Claim()
	own, err := tl.localStates([]store.Token{token})
	if err != nil || own[0] != tokenUnknown {
		return err == nil, err
	}
	silent := 0
	tl.requestStates(ctx, v, []store.Token{token}, func(m trie.MachineID, found []tokenState, failed error) {
		begun = begun || failed == nil && found[0] != tokenUnknown
		if failed != nil {
			silent, err = silent+1, fmt.Errorf("machine %s: %w", m, failed)
		}
	})
	// 2. The answer is certain only if fewer than copies - 1 are silent, because one holder of
	// the claim may have been replaced: its successor answers without the claim.
	if begun || silent < max(1, leastCopies(v)-1) {
		return begun, nil
	}
	return false, fmt.Errorf("%d machines do not report whether the request was begun before: %w", silent, err)
}

// leastCopies returns the copies that each row has under v, at least, if there are as many members.
func leastCopies(v *view.View) int {
	return min(cmp.Or(v.Base.Copies, recovery.DefaultCopies), cmp.Or(v.Target.Copies, recovery.DefaultCopies))
}

// requestStates requests the states of tokens from all other members at the same time. It calls
// each for one answer at a time, and returns when all have answered or failed.
func (tl *tokenLookup) requestStates(ctx context.Context, v *view.View, tokens []store.Token, each func(m trie.MachineID, found []tokenState, failed error)) {
	body := peer.Encode(16+16*len(tokens), codeTokens(&v.Epoch, &tokens))
	var mu sync.Mutex
	var requests sync.WaitGroup
	for _, m := range v.Members {
		if m.ID == tl.self.Machine {
			continue
		}
		requests.Go(func() {
			found, failed := tl.requestState(ctx, m.ID, body, len(tokens))
			mu.Lock()
			defer mu.Unlock()
			each(m.ID, found, failed)
		})
	}
	requests.Wait()
}

// doneBefore returns true for each operation another member remembers. It returns nil without a
// request if no operation can be known: this view is older than store.TokenTime or no operation has a token.
func (tl *tokenLookup) doneBefore(ctx context.Context, v *view.View, operations []replica.Operation) (known []bool, err error) {
	if tl.flight.adoptedBefore(v, store.TokenTime) || !haveTokens(operations) {
		return nil, nil
	}
	tokens := make([]store.Token, len(operations))
	for i := range operations {
		tokens[i] = operations[i].Token
	}
	known = make([]bool, len(operations))
	tl.requestStates(ctx, v, tokens, func(m trie.MachineID, found []tokenState, failed error) {
		if failed != nil && err == nil {
			err = peer.Refuse(peer.CodeUnavailable, v.Epoch, "machine %s does not report whether the request was done before: %v", m, failed)
		}
		for i, f := range found {
			switch {
			case f >= tokenPending && err == nil:
				err = peer.Refuse(peer.CodeUnavailable, v.Epoch, "an earlier try of the request is under way on machine %s", m)
			case f == tokenDone:
				known[i] = true
			}
		}
	})
	return known, err
}

// stampedBefore returns true for each operation that is done, or that all its holders have, by the other members. All
// must answer. It returns a refusal if an operation is on its way, because its only machine may be lost.
func (tl *tokenLookup) stampedBefore(ctx context.Context, v *view.View, operations []replica.Operation) (known []bool, err error) {
	tokens := make([]store.Token, len(operations))
	for i := range operations {
		tokens[i] = operations[i].Token
	}
	known = make([]bool, len(operations))
	pending := make([]bool, len(operations))
	tl.requestStates(ctx, v, tokens, func(m trie.MachineID, found []tokenState, failed error) {
		if failed != nil {
			err = peer.Refuse(peer.CodeUnavailable, v.Epoch, "machine %s does not report what it has of a transaction: %v", m, failed)
		}
		for i, f := range found {
			known[i] = known[i] || f == tokenDone || f == tokenStored
			pending[i] = pending[i] || f == tokenPending
		}
	})
	if err != nil {
		return nil, err
	}
	// What this machine has in flight itself, it waits for after stamping.
	local, err := tl.localStates(tokens)
	if err != nil {
		return nil, err
	}
	inFlight := tl.flight.tokenStates(tokens)
	for i := range known {
		known[i] = known[i] || local[i] == tokenDone || local[i] == tokenStored
		if pending[i] && !known[i] && inFlight[i] == tokenUnknown {
			return nil, peer.Refuse(peer.CodeUnavailable, v.Epoch, "an operation of a transaction is on its way")
		}
	}
	return known, nil
}

// requestState queries one member, and checks its answer.
func (tl *tokenLookup) requestState(ctx context.Context, m trie.MachineID, body []byte, count int) ([]tokenState, error) {
	ctx, cancel := context.WithTimeout(ctx, tl.options.Attempt)
	defer cancel()
	body, err := tl.member.Call(ctx, m, methodTokens, body)
	if err != nil {
		return nil, err
	}
	if len(body) != count {
		return nil, fmt.Errorf("%w: %d answers for %d tokens", peer.ErrMessage, len(body), count)
	}
	found := make([]tokenState, count)
	for i, b := range body {
		if found[i] = tokenState(b); found[i] > tokenStored {
			return nil, fmt.Errorf("%w: remembrance %d", peer.ErrMessage, b)
		}
	}
	return found, nil
}

// handleTokens answers writes/tokens. It does so within the gate, because then every delivery of
// older views is in the store or never will be.
func (tl *tokenLookup) handleTokens(_ context.Context, body []byte) ([]byte, error) {
	var epoch uint64
	var tokens []store.Token
	if err := peer.Decode(body, codeTokens(&epoch, &tokens)); err != nil {
		return nil, malformed(err)
	}
	leave, err := tl.member.Enter(epoch)
	if err != nil {
		return nil, err
	}
	defer leave()
	states, err := tl.localStates(tokens)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(states))
	for i, s := range states {
		out[i] = byte(s)
	}
	return out, nil
}

// localStates returns the state of each token on this machine.
func (tl *tokenLookup) localStates(tokens []store.Token) ([]tokenState, error) {
	// 1. Operations in flight must come before stored ones: if one is committed in between, it is
	// stored.
	states, foreign := tl.flight.tokenStates(tokens), tl.foreignTokens()
	for i, t := range tokens {
		if states[i] == tokenUnknown && foreign[t] {
			states[i] = tokenPending
		}
	}
	// 2. Stored ones.
	done, err := tl.store.HasTokens(tokens)
	if err != nil {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "look up tokens: %v", err)
	}
	// 3. What has arrived in between is in flight.
	if slices.Contains(done, true) {
		foreign = tl.foreignTokens()
	}
	for i, t := range tokens {
		switch {
		case states[i] != tokenUnknown || !done[i]:
		case foreign[t]:
			states[i] = tokenPending
		default:
			states[i] = tokenDone
		}
	}
	return states, nil
}

// foreignTokens returns the tokens of operations in flight on this machine with the stamps of
// other sequencers.
func (tl *tokenLookup) foreignTokens() map[store.Token]bool {
	var tokens map[store.Token]bool
	for _, b := range tl.store.InFlightBatches() {
		if sequencerOf(b.Origin) == tl.self {
			continue
		}
		for i := range b.Operations {
			if t := b.Operations[i].Token; t != (store.Token{}) {
				if tokens == nil {
					tokens = map[store.Token]bool{}
				}
				tokens[t] = true
			}
		}
	}
	return tokens
}
