// Remote feeds: rows of another machine, as streams.

package reads

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// remoteFeed reads the rows of another machine. A goroutine requests them in portions sized for
// its buffer, because the other machine must hold its snapshot only while it sends. The goroutine
// requests the next portion when the reader begins with the one before.
type remoteFeed struct {
	remote *remote
	q      *request
	owner  trie.MachineID
	budget int64
	most   int64

	clock    *clock
	wait     time.Duration // for the next frame
	ctx      context.Context
	cancel   context.CancelCauseFunc
	running  sync.WaitGroup
	arrivals chan arrival
	reached  chan struct{} // has a token when the reader begins with a portion

	err error // of fetch, once arrivals is closed

	current unpacker
	base    int // index of the first range of what current requested
}

// arrival is a frame of rows.
type arrival struct {
	frame []byte
	base  int
	first bool // of the frames of one request
}

// waitingFrames bounds the frames waiting for their reader. Most requests have fewer; if a
// request has more, the sender waits.
const waitingFrames = 128

// openRemote returns a feed. It requests its rows in the background, and waits for the first frame for a time.
func (rm *remote) openRemote(ctx context.Context, q *request, owner trie.MachineID, budget, most int64, wait time.Duration) feed {
	f := &remoteFeed{
		remote: rm, q: q, owner: owner, budget: min(budget, most), most: most, clock: clockOf(ctx), wait: wait,
		arrivals: make(chan arrival, waitingFrames),
		reached:  make(chan struct{}, 1),
	}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	f.running.Go(func() {
		f.err = f.fetch()
		close(f.arrivals)
		f.cancel(nil)
	})
	f.running.Go(func() {
		err := rm.member.Newer(f.ctx, q.view)
		if err == nil {
			err = errMoved // what was requested in the old view is refused now, or its owner is dead
		}
		f.cancel(err) // the feed's own end, or that none is waited for any more
	})
	return f
}

// deliver hands an arrival to the reader. It returns false if the feed has ended.
func (f *remoteFeed) deliver(a arrival) bool {
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

// fetch requests all ranges, one request after the other. The error is io.EOF at the end.
func (f *remoteFeed) fetch() error {
	at, part := 0, f.q.ranges
	for at < len(f.q.ranges) {
		// 1. Request the next portion.
		q := *f.q
		q.ranges, q.budget = take(part), f.budget
		waits, index, key, err := f.request(&q, at)
		if err != nil {
			return f.causeOf(err)
		}
		if key == nil {
			index = len(q.ranges)
		}
		// 2. Continue after the last row of the answer.
		at, part = at+index, part[index:]
		if key != nil {
			part = append([]triple.Range{rangeAfter(part[0], key, q.reverse)}, part[1:]...)
			if part[0].Empty() {
				at, part = at+1, part[1:]
			}
		}
		f.budget = min(4*f.budget, f.most)
		// 3. Wait until the reader begins with this portion.
		if !waits || at == len(f.q.ranges) {
			continue
		}
		select {
		case <-f.reached:
		case <-f.ctx.Done():
			return f.causeOf(f.ctx.Err())
		}
	}
	return io.EOF
}

// causeOf returns the cause if the feed was ended, and a remoteError of err otherwise.
func (f *remoteFeed) causeOf(err error) error {
	if cause := context.Cause(f.ctx); cause != nil {
		return cause
	}
	return &remoteError{f.owner, err}
}

// request sends one request and hands the frames of its answer to the reader. If more rows are left, it
// returns the range and the key of the last row; otherwise key is nil. rows reports whether the
// answer had rows.
func (f *remoteFeed) request(q *request, base int) (rows bool, index int, key []byte, err error) {
	// The stall timer runs while the machine must send, and stops while the reader is slow.
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	stall := f.remote.stall(f.wait, cancel)
	defer stall.Stop()
	stream, err := f.remote.peers.Stream(ctx, f.owner, MethodScan, q.encode())
	if err != nil {
		return false, 0, nil, err
	}
	defer stream.Close()
	var parts joiner
	// The stream ends with frameEnd or frameMore. If it ends otherwise, it is broken.
	for {
		message, err := stream.Next()
		if err != nil {
			return rows, 0, nil, truncated(err)
		}
		f.clock.progress()
		f.wait = f.remote.options.IdleTimeout
		stall.Reset(f.wait)
		// A frame may come in several messages.
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
			stall.Stop() // the machine is not at fault if the reader is slow
			if !f.deliver(arrival{frame: frame, base: base, first: !rows}) {
				return rows, 0, nil, f.ctx.Err()
			}
			rows = true
			stall.Reset(f.wait)
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

// seekRows bounds the rows a seek skips in the buffer, because skipping few is less work than a
// request.
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

// end returns the error of the feed, nil at the end of the rows.
func (f *remoteFeed) end() error {
	if f.err == io.EOF {
		return nil
	}
	return f.err
}

// unpack returns the next row of the current frame, if it has one.
func (f *remoteFeed) unpack() (row, bool, error) {
	r, ok, err := f.current.nextIn(f.q.ranges[f.base:])
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
		f.reached <- struct{}{} // has room, because fetch took the token of the portion before
	}
}

func (f *remoteFeed) close() {
	f.cancel(nil)
	f.running.Wait()
}
