package exec

import (
	"errors"
	"fmt"
)

// ErrMemory is what the error of a query wraps that needs more than
// [Options.Memory], or more temporary files than [Options.SpillBytes].
var ErrMemory = errors.New("the query needs too much memory")

// DefaultMemory is what a query may hold where [Options.Memory] is 0.
const DefaultMemory = 256 << 20

// account counts the bytes that the operators of a query hold.
//
// Operators that can go on in temporary files have a share each, which no other
// can take. A quarter of the limit is divided so; the rest is for who comes first.
// Invariant, but for what [holder.take] takes: used + unused <= limit.
type account struct {
	used, limit int64
	sharers     int64
	share       int64
	unused      int64 // of the shares

	reserve  func(bytes int64) error // nil: nobody is to know
	reserved int64                   // that reserve was called for
}

// reserveGrain is how many bytes are reserved at a time, at least.
const reserveGrain = 256 << 10

// ensure reserves what bytes more need.
func (a *account) ensure(bytes int64) error {
	more := a.used + bytes - a.reserved
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

// settle gives back what is reserved and not used, but for a few grains.
func (a *account) settle() {
	if spare := a.reserved - a.used; a.reserve != nil && (spare > 16*reserveGrain || a.used == 0) && spare > 0 {
		a.reserved -= spare
		_ = a.reserve(-spare) // which does not fail
	}
}

// divide makes the shares, once all operators are there.
func (a *account) divide() {
	if a.sharers > 0 {
		a.share = a.limit / 4 / a.sharers
		a.unused = a.share * a.sharers
	}
}

// holder is an operator's part of the account.
type holder struct {
	account *account
	name    string
	held    int64
	sharer  bool
	plan    *Plan
}

func (h *holder) setPlan(p *Plan) { h.plan = p }

// shares gives the holder a share.
func (h *holder) shares() {
	h.sharer = true
	h.account.sharers++
}

// grow counts bytes that are about to be held, or returns an error.
func (h *holder) grow(bytes int) error {
	if !h.fits(bytes) {
		return fmt.Errorf("%w: %s would take it beyond its limit of %d bytes", ErrMemory, h.name, h.account.limit)
	}
	if err := h.account.ensure(int64(bytes)); err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	h.take(bytes)
	return nil
}

func (h *holder) fits(bytes int) bool {
	a, held := h.account, h.held+int64(bytes)
	if !h.sharer {
		return a.used+a.unused+int64(bytes) <= a.limit
	}
	if held <= a.share {
		return true
	}
	return a.used+int64(bytes)+a.unused-h.unusedAt(h.held) <= a.limit
}

func (h *holder) unusedAt(held int64) int64 { return max(0, h.account.share-held) }

// take counts bytes without a question: those of buffers, of which there are few.
func (h *holder) take(bytes int) { h.set(h.held + int64(bytes)) }

func (h *holder) set(held int64) {
	if h.sharer {
		h.account.unused += h.unusedAt(held) - h.unusedAt(h.held)
	}
	h.account.used += held - h.held
	if held < h.held {
		h.account.settle()
	}
	h.held = held
	if h.plan != nil {
		h.plan.Memory = max(h.plan.Memory, held)
	}
}

func (h *holder) free() { h.set(0) }

// shrink gives back all but held bytes.
func (h *holder) shrink(held int64) { h.set(held) }

// Held is memory that the reader of a Run holds on behalf of the query.
type Held struct{ holder holder }

// Hold returns a part of the run's account, under a name for errors.
func (r *Run) Hold(name string) *Held {
	return &Held{holder{account: &r.query.account, name: name}}
}

// Grow counts bytes. An error wraps [ErrMemory]; then they are not counted.
func (h *Held) Grow(bytes int) error { return h.holder.grow(bytes) }

// Free gives back all bytes.
func (h *Held) Free() { h.holder.free() }

// Held returns the bytes that the run and its reader hold: 0 after Close.
func (r *Run) Held() int64 { return r.query.account.used }

// table holds rows: their bindings are copied, so that no chunk of an arena is
// kept for a few of its bindings.
type table struct {
	holder
	width int
	cells []string
	n     int
	arena arena
}

func (t *table) row(i int) []string { return t.cells[i*t.width : (i+1)*t.width : (i+1)*t.width] }

// sizeOf is what add counts for a row.
func (t *table) sizeOf(row []string) int {
	bytes := 2 * 16 * t.width // as append may double
	for _, cell := range row {
		bytes += len(cell)
	}
	return bytes
}

// add appends a copy of the row.
func (t *table) add(row []string) error {
	if err := t.grow(t.sizeOf(row)); err != nil {
		return err
	}
	t.put(row)
	return nil
}

// put is add for a row that was counted.
func (t *table) put(row []string) {
	for _, cell := range row {
		if cell != "" {
			cell = t.arena.keep(bytesOf(cell))
		}
		t.cells = append(t.cells, cell)
	}
	t.n++
}

func (t *table) drop() {
	t.cells, t.n, t.arena = nil, 0, arena{}
	t.free()
}
