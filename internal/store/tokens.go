// Idempotency keys: a change that is sent twice under one key is made once.

package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
)

// OperationKind is the kind of an operation.
type OperationKind uint8

// The kinds of operations.
const (
	OperationAdd OperationKind = iota + 1
	OperationDelete
	OperationAnnotate
	OperationClaim  // changes nothing: only its token is recorded
	OperationRecord // changes nothing: it has all operations of a transaction
)

// Valid reports whether k is one of the kinds.
func (k OperationKind) Valid() bool { return k >= OperationAdd && k <= OperationRecord }

// Changes reports whether operations of the kind change their triple.
func (k OperationKind) Changes() bool { return k <= OperationAnnotate }

// Token identifies an operation of a client's request, and stays the same when the request is sent
// again. The zero Token is none.
type Token [16]byte

// RequestKey identifies a client's request by its idempotency key.
type RequestKey struct {
	sum [sha256.Size]byte
	// First is true if the request was not sent before, because then other machines cannot have
	// it.
	First bool
	depth uint8 // see [WithDepth]
}

type requestKeyOf struct{}

// WithRequestKey returns a context for a change that is made once. This holds even if the change
// is requested several times with this key within [TokenTime]. An empty key removes the key of
// ctx.
func WithRequestKey(ctx context.Context, key string, first bool) context.Context {
	var k *RequestKey
	if key != "" {
		k = &RequestKey{sum: sha256.Sum256([]byte(key)), First: first}
	}
	return context.WithValue(ctx, requestKeyOf{}, k)
}

// RandomKey returns the key of a request that has none.
func RandomKey() *RequestKey {
	k := &RequestKey{First: true}
	_, _ = rand.Read(k.sum[:]) // it returns no error
	return k
}

// WithDepth returns a context for a change that update functions make. ctx must have a request key.
// depth is the number of calls that led to the change, from 1. The feed reports it with each change,
// see [feed.Change.Depth]; so a loop of functions can end.
func WithDepth(ctx context.Context, depth uint8) context.Context {
	k := *RequestKeyOf(ctx)
	k.depth = depth
	return context.WithValue(ctx, requestKeyOf{}, &k)
}

// RequestKeyOf returns the key of the request of ctx, or nil.
func RequestKeyOf(ctx context.Context) *RequestKey {
	k, _ := ctx.Value(requestKeyOf{}).(*RequestKey)
	return k
}

// Token returns the token of an operation of the request on the triple with a key in SPO. If k is
// nil, it returns the zero Token.
func (k *RequestKey) Token(kind OperationKind, key []byte) (t Token) {
	if k == nil {
		return t
	}
	h := sha256.New()
	h.Write(k.sum[:])
	h.Write([]byte{byte(kind)})
	h.Write(key)
	copy(t[:], h.Sum(nil))
	if k.depth > 0 {
		t.setDepth(k.depth)
	}
	return t
}

// depthMark begins the last four bytes of a token with a depth. They are bytes of a hash in other
// tokens, so one of 16 million changes with an idempotency key is taken for an effect. It matters
// only if update functions match it.
const depthMark = "\xF7fn"

func (t *Token) setDepth(depth uint8) {
	copy(t[12:], depthMark)
	t[15] = depth
}

// Depth returns the depth of [WithDepth]; 0 if the token has none.
func (t *Token) Depth() uint8 {
	if string(t[12:15]) != depthMark {
		return 0
	}
	return t[15]
}

// Claim returns the token of the request as a whole.
func (k *RequestKey) Claim() Token { return k.Token(OperationClaim, nil) }

// TokenTime is the minimum time that a store remembers a token, by the system clock.
const TokenTime = 10 * time.Minute

const tokenPrefix = "token/"

// tokens lists the periods with rows of tokenPrefix. The key of a row is the prefix, the period of
// the operation (4 bytes, big endian, in units of TokenTime since 1970) and the token. Its value
// is empty. Rows are deleted when their period is neither the current one nor the one before.
type tokens struct {
	db      *database.Database
	mu      sync.Mutex
	periods []uint32 // periods with rows, ascending
}

// period returns the current period.
func (t *tokens) period() uint32 { return uint32(time.Now().Unix() / int64(TokenTime/time.Second)) }

// currentPeriods returns the periods whose tokens count, because they are not over. If the clock was set
// back, they may lie in the future.
func (t *tokens) currentPeriods() []uint32 {
	now := t.period()
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.periods), func(p uint32) bool { return p+1 < now })
}

// begin returns the current period, which has rows from now on. over lists the periods that end;
// they are removed from t.
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
	return append(binary.BigEndian.AppendUint32(keyspace.LocalKey(tokenPrefix), period), token[:]...)
}

// read finds the periods with rows.
func (t *tokens) read() (err error) {
	lower, upper := keyspace.LocalBounds(tokenPrefix)
	it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; {
		key := it.Key()
		if len(key) != len(lower)+4+len(Token{}) {
			return keyspace.LocalError(key)
		}
		period := binary.BigEndian.Uint32(key[len(lower):])
		t.periods = append(t.periods, period)
		if period+1 == 0 {
			break
		}
		valid = it.SeekGE(tokenKey(period+1, Token{}))
	}
	return it.Error()
}

// write appends the rows of tokens to a batch, and deletes the rows of ended periods.
func (t *tokens) write(batch *pebble.Batch, tokens []Token) error {
	if len(tokens) == 0 {
		return nil
	}
	now, over := t.begin()
	for _, period := range over {
		if err := t.db.DeleteRange(tokenKey(period, Token{}), tokenKey(period+1, Token{}), pebble.NoSync); err != nil {
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

// HasTokens reports for each token whether its operation was done here recently.
func (s *Store) HasTokens(tokens []Token) ([]bool, error) {
	if err := s.db.Begin(); err != nil {
		return nil, fault.Wrap("look up tokens", err)
	}
	defer s.db.End()
	done := make([]bool, len(tokens))
	for i := range tokens {
		var err error
		if done[i], err = s.committer.tokens.has(tokens[i]); err != nil {
			return nil, fault.Wrap("look up tokens", err)
		}
	}
	return done, nil
}

// has reports whether the operation with a token was done recently.
func (t *tokens) has(token Token) (bool, error) {
	if token == (Token{}) {
		return false, nil
	}
	for _, period := range t.currentPeriods() {
		_, closer, err := t.db.Get(tokenKey(period, token))
		if err == nil {
			return true, closer.Close()
		}
		if !errors.Is(err, pebble.ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}
