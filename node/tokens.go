// This file lets a change that is sent twice under one idempotency key be done once: its
// operations have tokens, and a store remembers the tokens of what it has done lately.

package node

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Token names an operation of a client's request, the same one each time that the request
// is sent. The zero Token is none.
type Token [16]byte

// RequestKey names a client's request by its idempotency key.
type RequestKey struct {
	sum [sha256.Size]byte
	// First says that the request was not sent before, so that other machines need not be
	// asked for it.
	First bool
}

type requestKeyOf struct{}

// WithRequestKey returns a context for a change that is done once, however often it is
// asked for with this key within [TokenTime]. An empty key takes the key of ctx away.
func WithRequestKey(ctx context.Context, key string, first bool) context.Context {
	var k *RequestKey
	if key != "" {
		k = &RequestKey{sha256.Sum256([]byte(key)), first}
	}
	return context.WithValue(ctx, requestKeyOf{}, k)
}

// RequestKeyOf returns the key of the request that ctx is for; nil is none.
func RequestKeyOf(ctx context.Context) *RequestKey {
	k, _ := ctx.Value(requestKeyOf{}).(*RequestKey)
	return k
}

// Token returns the token of an operation of the request, on the triple with a key in SPO.
// A nil RequestKey has none.
func (k *RequestKey) Token(kind OperationKind, key []byte) (t Token) {
	if k == nil {
		return t
	}
	h := sha256.New()
	h.Write(k.sum[:])
	h.Write([]byte{byte(kind)})
	h.Write(key)
	copy(t[:], h.Sum(nil))
	return t
}

// Claim returns the token by which the request as a whole is claimed.
func (k *RequestKey) Claim() Token { return k.Token(OperationClaim, nil) }

// TokenTime is for how long tokens are remembered at least, by the clock of the system.
const TokenTime = 10 * time.Minute

// tokens knows which rows of tokenPrefix there are. A row is the prefix, the period in
// which the operation was done (4 bytes, big endian, in units of TokenTime since 1970) and
// the token; its value is empty. Rows go when their period is neither this one nor the one
// before.
type tokens struct {
	mu      sync.Mutex
	periods []uint32 // that have rows, ascending
}

// period returns that of this moment.
func (t *tokens) period() uint32 { return uint32(time.Now().Unix() / int64(TokenTime/time.Second)) }

// kept returns the periods whose tokens count: those that are not over, which a clock
// that was set back may show in the future.
func (t *tokens) kept() []uint32 {
	now := t.period()
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.periods), func(p uint32) bool { return p+1 < now })
}

// begin returns the period of this moment, which has rows from now on, and those that are
// over, which have none any more.
func (t *tokens) begin() (now uint32, over []uint32) {
	now = t.period()
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, found := slices.BinarySearch(t.periods, now); !found {
		t.periods = slices.Insert(t.periods, at, now)
	}
	n := 0
	for n < len(t.periods) && t.periods[n]+1 < now {
		n++
	}
	over = slices.Clone(t.periods[:n])
	t.periods = slices.Delete(t.periods, 0, n)
	return now, over
}

func tokenKey(period uint32, token Token) []byte {
	return append(binary.BigEndian.AppendUint32(localKey(tokenPrefix), period), token[:]...)
}

// readTokens finds the periods that have rows.
func (s *Store) readTokens() (err error) {
	lower, upper := localBounds(tokenPrefix)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; {
		key := it.Key()
		if len(key) != len(lower)+4+len(Token{}) {
			return errLocal(key)
		}
		period := binary.BigEndian.Uint32(key[len(lower):])
		s.tokens.periods = append(s.tokens.periods, period)
		if period+1 == 0 {
			break
		}
		valid = it.SeekGE(tokenKey(period+1, Token{}))
	}
	return it.Error()
}

// writeTokens appends the rows of tokens to a batch, and drops those of periods that are
// over.
func (s *Store) writeTokens(batch *pebble.Batch, tokens []Token) error {
	if len(tokens) == 0 {
		return nil
	}
	now, over := s.tokens.begin()
	for _, period := range over {
		if err := s.db.DeleteRange(tokenKey(period, Token{}), tokenKey(period+1, Token{}), pebble.NoSync); err != nil {
			return err
		}
	}
	for _, token := range tokens {
		if err := batch.Set(tokenKey(now, token), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// HasTokens reports for each token whether its operation was done here lately.
func (s *Store) HasTokens(tokens []Token) ([]bool, error) {
	if err := s.uses.begin(); err != nil {
		return nil, wrap("look up tokens", err)
	}
	defer s.uses.end()
	done := make([]bool, len(tokens))
	for i := range tokens {
		var err error
		if done[i], err = s.hasToken(tokens[i]); err != nil {
			return nil, wrap("look up tokens", err)
		}
	}
	return done, nil
}

func (s *Store) hasToken(token Token) (bool, error) {
	if token == (Token{}) {
		return false, nil
	}
	for _, period := range s.tokens.kept() {
		_, closer, err := s.db.Get(tokenKey(period, token))
		if err == nil {
			return true, closer.Close()
		}
		if !errors.Is(err, pebble.ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}

// Claim notes durably that the request of ctx begins, unless it has no key. It returns
// [ErrBegun] if it began before: what is not done triple by triple cannot be done again.
func (s *Store) Claim(ctx context.Context) error {
	key := RequestKeyOf(ctx)
	if key == nil {
		return nil
	}
	if s.options.ReadOnly {
		return wrap("claim", ErrReadOnly)
	}
	if err := s.alone(); err != nil {
		return wrap("claim", err)
	}
	r := newRequest(kindClaim, 0)
	r.tokens, r.size = []Token{key.Claim()}, itemBytes
	if err := s.queue.do(ctx, r, &s.health, s.options.WriteTimeout); err != nil {
		return wrap("claim", err)
	}
	if r.unchanged > 0 {
		return wrap("claim", ErrBegun)
	}
	return nil
}
