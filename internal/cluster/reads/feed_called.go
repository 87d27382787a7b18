// Called feeds: few rows of another machine, by one call.

package reads

import (
	"bytes"
	"context"
	"sync"

	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Of a calledFeed.
const (
	calledRanges = 256       // that it is for, at most
	calledBytes  = 128 << 10 // of its message, about
	// calledLooks bounds the rows an owner reads for one message. Few of them may pass a filter,
	// and the answer must come soon.
	calledLooks = 1 << 14
)

// calledFeed requests the first rows by one call, in the goroutine of its reader, because most
// answers have no more. The others come from a remoteFeed. It is opened when the reader gets near
// them.
type calledFeed struct {
	remote *remote
	ctx    context.Context
	q      *request
	owner  trie.MachineID
	budget int64
	most   int64

	begun     sync.WaitGroup     // of begin
	cancel    context.CancelFunc // of begin; nil if it was not called
	requested bool
	awaited   bool // next has waited for the answer
	err       error
	current   unpacker
	returned  int            // rows
	remaining []triple.Range // the ranges whose rows the answer lacks
	base      int            // index of the first of these
	rest      feed           // of remaining
}

// begin sends the request in the background. It must be called before next, and once.
func (f *calledFeed) begin() {
	f.requested = true
	f.ctx, f.cancel = context.WithCancel(f.ctx)
	f.begun.Go(f.send)
}

func (f *calledFeed) send() { f.err = f.trySend() }

// await waits for the answer. It sends the request if begin did not.
func (f *calledFeed) await() error {
	if !f.requested {
		f.requested = true
		f.send()
	}
	f.begun.Wait()
	return nil
}

// trySend sends the request and decodes the answer.
func (f *calledFeed) trySend() error {
	q := *f.q
	q.budget = f.budget
	answer, err := f.remote.call(f.ctx, q.view, f.owner, MethodRows, q.encode())
	if err != nil {
		return err
	}
	more, index, key, frame, err := parseRows(answer)
	if err == nil && more && (index >= len(q.ranges) || !q.ranges[index].Contains(key)) {
		err = badFrame("not a place in what was asked for")
	}
	if err != nil {
		return &remoteError{f.owner, err}
	}
	f.current.begin(frame)
	if more {
		f.remaining, f.base = restOf(q.ranges, index, key, q.reverse)
	}
	return nil
}

// restOf returns the parts of ranges after a key in the range with an index, and the index of the
// first of these parts.
func restOf(ranges []triple.Range, index int, key []byte, reverse bool) ([]triple.Range, int) {
	first := rangeAfter(ranges[index], key, reverse)
	if first.Empty() {
		return ranges[index+1:], index + 1
	}
	return append([]triple.Range{first}, ranges[index+1:]...), index
}

func (f *calledFeed) next() (row, bool, error) {
	if !f.awaited {
		f.awaited = true
		if err := turns.Wait(f.ctx, f.await); err != nil {
			return row{}, false, err
		}
	}
	if f.err != nil {
		return row{}, false, f.err
	}
	r, ok, err := f.current.nextIn(f.q.ranges)
	switch {
	case err != nil:
		return row{}, false, &remoteError{f.owner, err}
	case ok:
		if f.returned++; f.returned == warmRows {
			f.openRest()
		}
		return r, true, nil
	}
	if f.openRest(); f.rest == nil {
		return row{}, false, nil
	}
	return f.fromRest(f.rest.next())
}

// frame returns the frame of the rest. It returns nil for the rows of the answer, because next must
// count these.
func (f *calledFeed) frame() *unpacker {
	if rest, ok := f.rest.(framed); ok && f.current.empty() {
		return rest.frame()
	}
	return nil
}

// openRest requests the rest in the background.
func (f *calledFeed) openRest() {
	if f.rest != nil || len(f.remaining) == 0 {
		return
	}
	q := *f.q
	q.ranges = f.remaining
	f.rest = f.remote.openRemote(f.ctx, &q, f.owner, min(4*f.budget, f.most), f.most, f.remote.options.IdleTimeout)
}

func (f *calledFeed) fromRest(r row, ok bool, err error) (row, bool, error) {
	r.index += f.base
	return r, ok, err
}

func (f *calledFeed) seek(key []byte) (row, bool, bool, error) {
	f.begun.Wait()
	if !f.requested || f.err != nil {
		return row{}, false, false, nil
	}
	for {
		r, ok, err := f.current.nextIn(f.q.ranges)
		if err != nil {
			return row{}, false, true, &remoteError{f.owner, err}
		}
		if !ok {
			break
		}
		if c := bytes.Compare(r.key, key); c == 0 || (c > 0) != f.q.reverse {
			return r, true, true, nil
		}
	}
	switch {
	case len(f.remaining) == 0:
		return row{}, false, true, nil
	case f.rest == nil:
		return row{}, false, false, nil
	}
	r, ok, done, err := f.rest.seek(key)
	r.index += f.base
	return r, ok, done, err
}

func (f *calledFeed) close() {
	if f.cancel != nil {
		f.cancel()
		f.begun.Wait()
	}
	if f.rest != nil {
		f.rest.close()
	}
}
