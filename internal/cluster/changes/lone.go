// The time before the cluster: the feed of the lone store that became it.

package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/trie"
)

// methodLone queries the founder of the cluster for a batch of its lone store's feed:
//
//	view, position as text, part, bytes -> flags (1 gone, 2 not a position), reason, the position behind
//	the batch as text, part, flags (1 more follow), unix ms, n changes
//
// A part is how many rows of the request behind the position were sent, see [changefeed.Page]. So a
// large request travels in several messages.
// A change is its kind, depth, stamp, key, long terms and, as JSON, annotation, load and clear.
const methodLone = "changes/lone"

type loneRequest struct {
	view     uint64
	since    string
	part     uint64
	maxBytes uint64
}

func (r *loneRequest) fields(c *peer.Coder) {
	c.Uvarint(&r.view)
	c.String(&r.since)
	c.Uvarint(&r.part, &r.maxBytes)
}

// loneBatch is a batch of a lone store's feed.
type loneBatch struct {
	gone, invalid bool
	reason        string // if gone or invalid
	position      string
	part          uint64
	more          bool
	time          uint64
	changes       []feed.Change
}

func (b *loneBatch) fields(c *peer.Coder) {
	c.Flags(&b.gone, &b.invalid)
	c.String(&b.reason, &b.position)
	c.Uvarint(&b.part)
	c.Bool(&b.more)
	c.Uvarint(&b.time)
	peer.List(c, &b.changes, 6, codeChange)
}

// codeChange codes a change of a lone store. Its sequencer is 0.
func codeChange(x *feed.Change, c *peer.Coder) {
	var rest struct {
		Annotation *feed.Annotation `json:",omitempty"`
		Load       *feed.LoadInfo   `json:",omitempty"`
		Clear      *feed.ClearInfo  `json:",omitempty"`
	}
	var text []byte
	if !c.Reading() && (x.Annotation != nil || x.Load != nil || x.Clear != nil) {
		rest.Annotation, rest.Load, rest.Clear = x.Annotation, x.Load, x.Clear
		text, _ = json.Marshal(rest) // structs of plain values
	}
	peer.Byte(c, &x.Kind)
	peer.Byte(c, &x.Depth)
	c.Uvarint(&x.Stamp.Epoch, &x.Stamp.Sequence)
	c.Bytes(&x.Key, &x.Long, &text)
	if !c.Reading() {
		return
	}
	if len(text) > 0 {
		c.Check(json.Unmarshal(text, &rest))
	}
	x.Annotation, x.Load, x.Clear = rest.Annotation, rest.Load, rest.Clear
	if len(x.Key) == 0 {
		x.Key = nil
	}
	if len(x.Long) == 0 {
		x.Long = nil
	}
	// Readers rely on what a kind needs.
	switch {
	case !x.Kind.Valid():
		c.Fail("a change of kind %d", x.Kind)
	case x.Kind == feed.Annotate && x.Annotation == nil || x.Kind == feed.Load && x.Load == nil || x.Kind == feed.Clear && x.Clear == nil:
		c.Fail("a change of kind %s without its part", x.Kind)
	case (x.Kind == feed.Load || x.Kind == feed.Clear) != (x.Key == nil):
		c.Fail("a change of kind %s with the key % X", x.Kind, x.Key)
	}
}

// handleLone answers changes/lone.
func (f *Feed) handleLone(ctx context.Context, body []byte) ([]byte, error) {
	var r loneRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, malformed(err)
	}
	b, err := f.loneBatch(ctx, r)
	if err != nil {
		return nil, err
	}
	return peer.Encode(int(min(r.maxBytes, maxPart))+1024, b.fields), nil
}

// loneBatch returns the next batch of the lone store's feed.
func (f *Feed) loneBatch(ctx context.Context, r loneRequest) (*loneBatch, error) {
	since, err := feed.ParsePosition(r.since)
	if err != nil {
		return nil, malformed(err)
	}
	leave, err := f.member.Enter(r.view)
	if err != nil {
		return nil, err
	}
	leave() // the lone store's feed does not change any more
	if r.part > math.MaxUint32 {
		return nil, malformed(fmt.Errorf("part %d", r.part))
	}
	p, err := f.store.ChangeFeed().Page(ctx, since, uint32(r.part), int(min(r.maxBytes, maxPart)/lonePage))
	var reason *feed.GoneError
	switch {
	case errors.As(err, &reason):
		return &loneBatch{position: r.since, gone: true, reason: reason.Reason}, nil
	case errors.Is(err, feed.ErrPosition):
		return &loneBatch{position: r.since, invalid: true, reason: err.Error()}, nil
	case err != nil:
		return nil, err
	}
	return &loneBatch{
		position: p.Position.String(), part: uint64(p.Part), more: p.More, time: uint64(max(p.Time.UnixMilli(), 0)), changes: p.Changes,
	}, nil
}

// lonePage: of the bytes of an answer, this share of rows is read, because changes are longer.
const lonePage = 4

// lone passes the rest of the lone store's feed, and enters the first epoch of the cluster.
func (rd *reader) lone(ctx context.Context, v *view.View) error {
	if v.Feed.Horizon > v.Feed.Began {
		return rd.gone(ctx, "%s", v.Feed.Reason)
	}
	if v.Feed.Founder == 0 {
		return rd.gone(ctx, "the machine with the changes from before the cluster has left it")
	}
	for {
		// 1. Query the founder for the next batch.
		r := loneRequest{view: v.Epoch, since: rd.pos.String(), part: rd.part, maxBytes: uint64(min(rd.out.most, maxPart))}
		b, err := rd.loneOf(ctx, v.Feed.Founder, r)
		switch {
		case err != nil:
			return transient{err}
		case b.gone:
			return rd.gone(ctx, "%s", b.reason)
		case b.invalid:
			return errFuture
		}
		// 2. Pass it. The position of the last one is the lone store's end.
		for i := range b.changes {
			if err := rd.pass(&b.changes[i], int64(b.time)); err != nil {
				return err
			}
		}
		if rd.pos, err = feed.ParsePosition(b.position); err != nil {
			return err
		}
		rd.part = b.part
		// The consumer of a part waits for the end of its commit, also if the rest is not selected.
		if err := rd.flush(rd.out.bytes >= rd.out.most || rd.out.inside && rd.part == 0); err != nil {
			return err
		}
		if !b.more {
			break
		}
	}
	rd.pos = feed.Position{Source: v.Feed.Source}.Begin(v.Feed.Began)
	return rd.loads(v)
}

func (f *Feed) loneOf(ctx context.Context, m trie.MachineID, r loneRequest) (*loneBatch, error) {
	if m == f.self.Machine {
		return f.loneBatch(ctx, r)
	}
	b := &loneBatch{}
	return b, f.call(ctx, m, methodLone, 0, r.fields, b.fields)
}
