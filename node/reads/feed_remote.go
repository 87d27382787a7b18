// Rows of another machine.

package reads

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/turns"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// remoteFeed is the rows of another machine. A goroutine asks for them, so many
// bytes at a time that it need not wait for their reader in the middle: the
// machine does not hold its snapshot for longer than it takes to send them. It
// asks for the next ones when the first of those before are being read.
type remoteFeed struct {
	reads  *Reads
	q      *request
	owner  trie.MachineID
	budget int64
	most   int64

	ctx      context.Context
	cancel   context.CancelCauseFunc
	running  sync.WaitGroup
	arrivals chan arrival
	turn     chan struct{}

	err error // of fetch, once arrivals is closed

	current unpacker
	base    int // index of the first range of what current was asked for
}

// arrival is a frame of rows.
type arrival struct {
	frame []byte
	base  int
	first bool // of the frames of one request
}

// waitingFrames is how many frames may wait for their reader: more than a request
// asks for, unless its budget is large; then the machine waits.
const waitingFrames = 128

func (r *Reads) openRemote(ctx context.Context, q *request, owner trie.MachineID, budget, most int64) feed {
	f := &remoteFeed{
		reads: r, q: q, owner: owner, budget: min(budget, most), most: most,
		arrivals: make(chan arrival, waitingFrames),
		turn:     make(chan struct{}, 1),
	}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	f.running.Go(func() {
		f.err = f.fetch()
		close(f.arrivals)
		f.cancel(nil)
	})
	f.running.Go(func() {
		err := r.cluster.Newer(f.ctx, q.view)
		if err == nil {
			err = errMoved // what was asked for in the old view is refused now, or its owner is dead
		}
		f.cancel(err) // the feed's own end, or that none is waited for any more
	})
	return f
}

// arrive hands an arrival on; false where nobody wants it any more.
func (f *remoteFeed) arrive(a arrival) bool {
	select {
	case f.arrivals <- a:
		return true
	default:
	}
	select {
	case f.arrivals <- a:
		return true
	case <-f.ctx.Done():
		return false
	}
}

// fetch asks for all ranges, one request after the other. The error is io.EOF
// when all is there.
func (f *remoteFeed) fetch() error {
	at, part := 0, f.q.ranges
	for at < len(f.q.ranges) {
		q := *f.q
		q.ranges, q.budget = take(part), f.budget
		waits, index, key, err := f.ask(&q, at)
		if err != nil {
			return f.because(err)
		}
		if key == nil {
			index = len(q.ranges)
		}
		at, part = at+index, part[index:]
		if key != nil {
			part = append([]triple.Range{behind(part[0], key, q.reverse)}, part[1:]...)
			if part[0].Empty() {
				at, part = at+1, part[1:]
			}
		}
		f.budget = min(4*f.budget, f.most)
		if !waits || at == len(f.q.ranges) {
			continue
		}
		select {
		case <-f.turn:
		case <-f.ctx.Done():
			return f.because(f.ctx.Err())
		}
	}
	return io.EOF
}

// take returns as many of the first ranges as one request has room for, one at
// least.
func take(ranges []triple.Range) []triple.Range {
	size := 0
	for i, r := range ranges {
		size += len(r.Lo) + len(r.Hi)
		if i > 0 && (i == maxRanges || size > maxRangeBytes) {
			return ranges[:i]
		}
	}
	return ranges
}

// because returns why the feed ended, if it was ended, and err otherwise.
func (f *remoteFeed) because(err error) error {
	if cause := context.Cause(f.ctx); cause != nil {
		return cause
	}
	return &remoteError{f.owner, err}
}

// ask sends one request and hands on the frames of its answer. Where the answer
// goes on behind a row, index and key are its place in the request; else key is
// nil. rows tells that there were some.
func (f *remoteFeed) ask(q *request, base int) (rows bool, index int, key []byte, err error) {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	stall := f.reads.stall(cancel)
	defer stall.Stop()
	stream, err := f.reads.cluster.Stream(ctx, f.owner, MethodScan, q.encode())
	if err != nil {
		return false, 0, nil, err
	}
	defer stream.Close()
	var parts joiner
	for {
		message, err := stream.Next()
		if err != nil {
			return rows, 0, nil, short(err)
		}
		stall.Reset(f.reads.options.Patience)
		frame, err := parts.join(message)
		if err != nil {
			return rows, 0, nil, err
		}
		if frame == nil {
			continue
		}
		switch frame[0] {
		case frameBeat:
		case frameRows:
			stall.Stop() // it is not its machine's fault if the reader takes long
			if !f.arrive(arrival{frame: frame, base: base, first: !rows}) {
				return rows, 0, nil, f.ctx.Err()
			}
			rows = true
			stall.Reset(f.reads.options.Patience)
		case frameEnd:
			return rows, 0, nil, drain(stream)
		case frameMore:
			index, key, err := parseMore(frame)
			if err != nil || index >= len(q.ranges) || !q.ranges[index].Contains(key) {
				return rows, 0, nil, badFrame("not a place in what was asked for")
			}
			return rows, index, key, drain(stream)
		default:
			return rows, 0, nil, badFrame("of unknown kind")
		}
	}
}

// stall ends a request of which nothing comes.
func (r *Reads) stall(cancel context.CancelCauseFunc) *time.Timer {
	return time.AfterFunc(r.options.Patience, func() {
		cancel(fmt.Errorf("nothing came from it for %s", r.options.Patience))
	})
}

// short makes an error of the end of a stream that came before the last frame.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// drain reads the end of a stream, so that its connection serves again.
func drain(stream *peer.Stream) error {
	switch _, err := stream.Next(); err {
	case io.EOF:
		return nil
	case nil:
		return badFrame("behind the last one")
	default:
		return err
	}
}

func (f *remoteFeed) next() (row, bool, error) {
	for {
		if r, ok, err := f.unpack(); ok || err != nil {
			return r, ok, err
		}
		a, ok := turns.Receive(f.ctx, f.arrivals)
		if !ok {
			return row{}, false, f.end()
		}
		f.load(a)
	}
}

// seekRows is how many rows a seek passes over that are here already: less work
// than a request.
const seekRows = 4 << 10

func (f *remoteFeed) seek(key []byte) (row, bool, bool, error) {
	for range seekRows {
		r, ok, err := f.unpack()
		if err != nil {
			return row{}, false, true, err
		}
		if ok {
			if c := bytes.Compare(r.key, key); c == 0 || (c > 0) != f.q.reverse {
				return r, true, true, nil
			}
			continue
		}
		select {
		case a, ok := <-f.arrivals:
			if !ok {
				return row{}, false, true, f.end()
			}
			f.load(a)
		default:
			return row{}, false, false, nil
		}
	}
	return row{}, false, false, nil
}

// end returns why there are no more rows, nil where there are none.
func (f *remoteFeed) end() error {
	if f.err == io.EOF {
		return nil
	}
	return f.err
}

// unpack returns the next row of the current frame, if it has one.
func (f *remoteFeed) unpack() (row, bool, error) {
	r, ok, err := f.current.in(f.q.ranges[f.base:])
	if err != nil {
		return row{}, false, &remoteError{f.owner, err}
	}
	r.index += f.base
	return r, ok, nil
}

func (f *remoteFeed) frame() *unpacker { return &f.current }

// load makes an arrival the current frame.
func (f *remoteFeed) load(a arrival) {
	f.current.begin(a.frame)
	f.base = a.base
	if a.first {
		f.turn <- struct{}{} // the one before was taken ahead of this request: there is room
	}
}

func (f *remoteFeed) close() {
	f.cancel(nil)
	f.running.Wait()
}
