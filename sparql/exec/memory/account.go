// The account of a query's bytes, and the parts of its operators.

package memory

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/sparql/explain"
)

// ErrMemory is wrapped by a query's error if the query needs more than [exec.Options.Memory],
// or more temporary files than [exec.Options.SpillBytes].
var ErrMemory = errors.New("the query needs too much memory")

// DefaultMemory bounds the memory of a query, in bytes, if [exec.Options.Memory] is 0.
const DefaultMemory = 256 << 20

// Account counts the bytes held by the operators of a query.
//
// If an operator can go on in temporary files, it has a share. No other operator may take it.
// The shares are a quarter of the limit; the rest is for the first operator to need it.
// Invariant, except for [Holder.Take]: Used - Fixed + unused <= Limit.
type Account struct {
	Used, Limit int64
	sharers     int64
	share       int64
	unused      int64 // of the shares
	Operators   int64 // those with a plan
	BatchCells  int   // how many bindings make a batch full
	Fixed       int64 // bytes of operators and of batches, not under the limit

	// Cells has the cells of freed batches of any query; nil if none are kept.
	Cells CellPool

	reserve  func(bytes int64) error // nil if no one else counts
	reserved int64                   // reserved by calls of reserve
	Owed     int64                   // used bytes without a reservation: ReserveOwed must reserve them
}

// CellPool keeps cells of batches for other batches, because each query needs a few for a short time. All
// are empty. It is safe for concurrent use.
type CellPool interface {
	// Get returns 1<<class cells without elements; nil if none are kept.
	Get(class int) []string
	// Put keeps the cells that Get returned, or others of that number.
	Put(class int, cells []string)
}

// MaxCellClass is the greatest class of a [CellPool].
const MaxCellClass = 14

// NewAccount returns the account of a query. batchCells is how many bindings make a batch
// full at most; see [Account.Divide].
func NewAccount(limit int64, reserve func(bytes int64) error, batchCells int) *Account {
	return &Account{Limit: limit, reserve: reserve, BatchCells: batchCells}
}

// reserveGrain is how many bytes are reserved at a time, at least. If a query holds no more
// than unreserved, it reserves none, because there may be very many such queries.
const (
	reserveGrain = 256 << 10
	unreserved   = 64 << 10
)

// ensure reserves the used bytes and bytes more.
func (a *Account) ensure(bytes int64) error {
	return a.reserveMore(a.Used + bytes - a.reserved - unreserved)
}

// ReserveOwed reserves the bytes of Take. Blocks of temporary files are not among them, because
// such files reduce the need.
func (a *Account) ReserveOwed() error {
	if a.Owed <= 0 {
		return nil
	}
	err := a.reserveMore(min(a.Owed, a.Used-a.reserved-unreserved))
	if errors.Is(err, ErrMemory) && a.Owed <= a.Limit/owedParts {
		return nil // tried again at the next checkpoint: operators that spill need less by then
	}
	a.Owed = 0
	return err
}

// owedParts: this part of the limit may be used before it is reserved.
const owedParts = 64

func (a *Account) reserveMore(more int64) error {
	if a.reserve == nil || more <= 0 {
		return nil
	}
	more = max(more, reserveGrain)
	if err := a.reserve(more); err != nil {
		return err
	}
	a.reserved += more
	return nil
}

// releaseSpare gives back the unused part of the reservation, except a few grains.
func (a *Account) releaseSpare() {
	if spare := a.reserved - a.Used; a.reserve != nil && (spare > 16*reserveGrain || a.Used == 0) && spare > 0 {
		a.reserved -= spare
		_ = a.reserve(-spare) // giving back does not fail
	}
}

// Take counts the bytes without which operators cannot work, or gives them back. They are
// reserved at the next checkpoint.
func (a *Account) Take(bytes int64) {
	a.Used += bytes
	a.Fixed += bytes
	a.Owed = max(a.Owed+bytes, 0)
}

// operatorBytes is the approximate size of an operator with its plan and its part of the
// algebra, 2 KiB, and of the stack that it takes if it stands around others, 4 KiB.
const operatorBytes = 6 << 10

// AddOperator counts an operator. All must be counted before [Account.Divide].
func (a *Account) AddOperator() {
	a.Operators++
	a.Take(operatorBytes)
}

// End gives all back, when the operators are closed.
func (a *Account) End() {
	a.Take(-a.Fixed)
	a.releaseSpare()
}

// Divide makes the shares. It must be called when all operators exist. It also sets the size of
// batches: those of all operators, two for each, take about an eighth of the limit.
func (a *Account) Divide(cellBytes int) {
	most := a.Limit / 8 / int64(cellBytes) / max(2*a.Operators, 1)
	a.BatchCells = int(max(1, min(most, int64(a.BatchCells)))) // an empty batch is not full
	if a.sharers > 0 {
		a.share = a.Limit / 4 / a.sharers
		a.unused = a.share * a.sharers
	}
}

// NewHolder returns a part of the account for an operator, under a name for errors.
func (a *Account) NewHolder(name string) Holder { return Holder{Account: a, Name: name} }

// Holder is an operator's part of the account.
type Holder struct {
	Account *Account
	Name    string
	Held    int64
	sharer  bool
	Plan    *explain.Plan
}

func (h *Holder) SetPlan(p *explain.Plan) { h.Plan = p }

// TakeShare gives the holder a share.
func (h *Holder) TakeShare() {
	h.sharer = true
	h.Account.sharers++
}

// Grow counts bytes before they are held, or returns an error. If it fails, the caller must not
// hold them.
func (h *Holder) Grow(bytes int) error {
	if !h.Fits(bytes) {
		return fmt.Errorf("%w: %s would take it beyond its limit of %d bytes", ErrMemory, h.Name, h.Account.Limit)
	}
	if err := h.Account.ensure(int64(bytes)); err != nil {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	h.Take(bytes)
	return nil
}

// Fits reports whether the limit has room for more bytes.
func (h *Holder) Fits(bytes int) bool {
	a, held := h.Account, h.Held+int64(bytes)
	if !h.sharer {
		return a.Used-a.Fixed+a.unused+int64(bytes) <= a.Limit
	}
	if held <= a.share {
		return true
	}
	return a.Used-a.Fixed+int64(bytes)+a.unused-h.unusedAt(h.Held) <= a.Limit
}

func (h *Holder) unusedAt(held int64) int64 { return max(0, h.Account.share-held) }

// Take counts bytes without a check of the limit. It may be used for buffers only, because
// these are few.
func (h *Holder) Take(bytes int) { h.set(h.Held + int64(bytes)) }

func (h *Holder) set(held int64) {
	if h.sharer {
		h.Account.unused += h.unusedAt(held) - h.unusedAt(h.Held)
	}
	h.Account.Used += held - h.Held
	if held < h.Held {
		h.Account.releaseSpare()
	}
	h.Held = held
	if h.Plan != nil {
		h.Plan.Memory = max(h.Plan.Memory, held)
	}
}

// Free gives all bytes back.
func (h *Holder) Free() { h.set(0) }

// ShrinkTo gives back all but held bytes.
func (h *Holder) ShrinkTo(held int64) { h.set(held) }
