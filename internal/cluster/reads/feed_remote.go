// Remote feeds: rows of another machine, as streams.

package reads

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// remoteFeed reads the rows of another machine. A goroutine requests them in portions sized for
// its buffer, because the other machine must hold its snapshot only while it sends. The goroutine
// requests the next portion when the reader begins with the one before.
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

// waitingFrames bounds the frames waiting for their reader. Most requests have fewer; if a
// request has more, the sender waits.
const waitingFrames = 128

// openRemote returns a feed. It requests its rows in the background.
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
		err := r.member.Newer(f.ctx, q.view)
		if err == nil {
			err = errMoved // what was asked for in the old view is refused now, or its owner is dead
		}
		f.cancel(err) // the feed's own end, or that none is waited for any more
	})
	return f
}

// arrive hands an arrival to the reader. It returns false if the feed has ended.
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

// fetch requests all ranges, one request after the other. The error is io.EOF at the end.
func (f *remoteFeed) fetch() error {
	at, part := 0, f.q.ranges
	for at < len(f.q.ranges) {
		// 1. Request the next portion.
		q := *f.q
		q.ranges, q.budget = take(part), f.budget
		waits, index, key, err := f.ask(&q, at)
		if err != nil {
			return f.because(err)
		}
		if key == nil {
			index = len(q.ranges)
		}
		// 2. Continue after the last row of the answer.
		at, part = at+index, part[index:]
		if key != nil {
			part = append([]triple.Range{behind(part[0], key, q.reverse)}, part[1:]...)
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
		case <-f.turn:
		case <-f.ctx.Done():
			return f.because(f.ctx.Err())
		}
	}
	return io.EOF
}

// take returns the first ranges up to the limits of one request, at least one.
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

// because returns the cause if the feed was ended, and a remoteError of err otherwise.
func (f *remoteFeed) because(err error) error {
	if cause := context.Cause(f.ctx); cause != nil {
		return cause
	}
	return &remoteError{f.owner, err}
}

// ask sends one request and hands the frames of its answer to the reader. If more rows are left, it
// returns the range and the key of the last row; otherwise key is nil. rows reports whether the
// answer had rows.
func (f *remoteFeed) ask(q *request, base int) (rows bool, index int, key []byte, err error) {
	// The stall timer runs while the machine must send, and stops while the reader is slow.
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	stall := f.reads.stall(cancel)
	defer stall.Stop()
	stream, err := f.reads.peers.Stream(ctx, f.owner, MethodScan, q.encode())
	if err != nil {
		return false, 0, nil, err
	}
	defer stream.Close()
	var parts joiner
	// The stream ends with frameEnd or frameMore. If it ends otherwise, it is broken.
	for {
		message, err := stream.Next()
		if err != nil {
			return rows, 0, nil, short(err)
		}
		stall.Reset(f.reads.options.IdleTimeout)
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
			if !f.arrive(arrival{frame: frame, base: base, first: !rows}) {
				return rows, 0, nil, f.ctx.Err()
			}
			rows = true
			stall.Reset(f.reads.options.IdleTimeout)
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

// stall returns a timer. It ends a request if no frame comes.
func (r *Reads) stall(cancel context.CancelCauseFunc) *time.Timer {
	return time.AfterFunc(r.options.IdleTimeout, func() {
		cancel(fmt.Errorf("nothing came from it for %s", r.options.IdleTimeout))
	})
}

// short turns io.EOF into an error, because the stream ended before its last frame.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// drain reads the end of a stream, because its connection must be clean before it is used again.
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
		f.turn <- struct{}{} // has room, because fetch took the token of the portion before
	}
}

func (f *remoteFeed) close() {
	f.cancel(nil)
	f.running.Wait()
}
