// OwnedLists: answers about the lists that this machine owns.

package linklists

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// OwnedLists replies for the lists that this machine reads.
type OwnedLists struct {
	*rowreader.Readers
	uids     *assign.Assigner
	hosts    *HostNames
	longList int   // Options.LongList
	maxHeld  int64 // Options.HeldBytes
	packed   packedLists
	// longScans has an element for each long list that is being scanned.
	longScans chan struct{}
}

// Options bound the memory of lists.
type Options struct {
	LongList  int   // links; if a list is longer, it is not held
	HeldBytes int64 // of the lists of one call
	ListBytes int64 // of all lists that are kept
}

// NewOwned returns OwnedLists without kept lists.
func NewOwned(r *rowreader.Readers, uids *assign.Assigner, hosts *HostNames, o Options) *OwnedLists {
	l := &OwnedLists{Readers: r, uids: uids, hosts: hosts, longList: o.LongList, maxHeld: o.HeldBytes, longScans: make(chan struct{}, maxLongScans)}
	l.packed.init(o.ListBytes)
	return l
}

// reply answers a question about lists that this machine reads under the view of an epoch.
//
// Counts are taken first, because a kept list must be at least as new as the call. A read finds
// out if this machine may answer, even if there is nothing to be read.
//
// If the change count is unchanged, every row of the kept list is committed: it was when read,
// and none were added. A machine's ranges do not change within an epoch. So if the range of a
// kept list was read or checked under this epoch before, nothing must be checked again.
func (g *OwnedLists) reply(ctx context.Context, q *question) ([]reply, error) {
	o := &ownedReply{graph: g, question: q, replies: make([]reply, len(q.lists)),
		keys: make([]listKey, len(q.lists)), kept: make([]*keptList, len(q.lists))}
	for i := range q.lists {
		o.keys[i] = g.packed.key(q.d, q.lists[i].page, q.lists[i].part)
	}
	g.packed.get(o.keys, o.kept)
	// 1. Divide the lists: kept and checked, kept under an earlier epoch, unknown URL, missing.
	var looked []triple.Range
	var fresh []int
	for i, l := range o.kept {
		if l != nil && l.count != g.Store.ChangeCount(l.bucket) {
			l, o.kept[i] = nil, nil
		}
		switch {
		case l != nil && l.checked.Load() == q.epoch:
			continue
		case q.lists[i].url == "":
			o.kept[i], o.replies[i].state = nil, repliedURL
		case l != nil:
			looked, fresh = append(looked, o.rangeOf(i)), append(fresh, i)
		default:
			if err := o.addMissing(i); err != nil {
				return nil, err
			}
		}
	}
	// 2. Read the missing lists. The same read checks the ranges of kept lists.
	if err := o.readMissing(ctx, looked); err != nil {
		return nil, err
	}
	// 3. The read succeeded, so the kept lists hold under this epoch too.
	for _, i := range fresh {
		o.kept[i].checked.Store(q.epoch)
	}
	defer o.close()
	return o.replies, o.replyAll(ctx)
}

// ownedReply is the state of one question.
type ownedReply struct {
	graph *OwnedLists
	*question
	replies []reply
	keys    []listKey
	kept    []*keptList // by list; nil if nothing is known
	missing []missing
	same    [][2]int // repeated lists, and their first indexes
	hosts   Hosts
	reader  *rowreader.Reader // nil until it is needed
	scratch []uid.UID
}

// missing is a list that must be read.
type missing struct {
	triple.Range
	list   int
	bucket uint32
	count  uint64 // from before the read
}

// rangeOf returns the range of the rows of a list.
func (o *ownedReply) rangeOf(i int) triple.Range {
	l := &o.lists[i]
	if l.part.Lo != nil {
		return l.part
	}
	return o.graph.Keys.List(o.d, l.url)
}

// addMissing records that a list must be read. It takes the count of changes first.
func (o *ownedReply) addMissing(i int) error {
	m := missing{Range: o.rangeOf(i), list: i}
	var ok bool
	if m.bucket, ok = o.graph.Store.ChangeBucket(m.Lo); !ok {
		return errUncounted
	}
	m.count = o.graph.Store.ChangeCount(m.bucket)
	o.missing = append(o.missing, m)
	return nil
}

// readMissing reads lists, in batches, and keeps them packed. If a list is long, it keeps only
// that fact. It also checks that this machine reads the given ranges.
func (o *ownedReply) readMissing(ctx context.Context, looked []triple.Range) error {
	g := o.graph
	// 1. Sort, and read each range once: repeated lists share the result.
	slices.SortFunc(o.missing, func(a, b missing) int { return bytes.Compare(a.Lo, b.Lo) })
	rest := o.missing[:0]
	for _, m := range o.missing {
		if n := len(rest); n > 0 && bytes.Equal(rest[n-1].Lo, m.Lo) {
			o.same = append(o.same, [2]int{m.list, rest[n-1].list})
			continue
		}
		rest = append(rest, m)
	}
	// 2. Read batches. The first one runs even if it is empty, because it checks the ranges.
	for first := true; first || len(rest) > 0; first = false {
		ranges := looked
		for i := range rest {
			ranges = append(ranges, rest[i].Range)
		}
		looked = nil
		read := ownedScan{asked: rest}
		err := g.Store.ReadOwn(ctx, o.epoch, ranges, func(ctx context.Context, sn *store.Snapshot) error {
			return read.read(ctx, &rowreader.Reader{Readers: g.Readers, Source: sn.Source()}, o.question, g.longList)
		})
		if err != nil {
			return err
		}
		uids, degraded, err := g.uids.AssignReporting(ctx, read.urls)
		if err != nil {
			return err
		}
		// If UIDs came from other orders, the lists are used once, but not kept.
		for i := range read.done {
			at := rest[i].list
			l := read.pack(i, uids, o.lists[at].part.Lo != nil)
			l.checked.Store(o.epoch)
			o.kept[at] = l
			if !degraded {
				g.packed.put(o.keys[at], l)
			}
		}
		rest = rest[read.done:]
	}
	for _, same := range o.same {
		o.kept[same[0]] = o.kept[same[1]]
	}
	return nil
}

// ownedScan is a batch of lists as read from this machine's rows.
type ownedScan struct {
	asked []missing
	done  int            // the number of lists, from the first, that are read or long
	urls  []string       // of all ends, each once
	place map[string]int // the index of a URL in urls
	ends  [][]int        // by list: indexes in urls
	long  bool           // whether the last done list is long
	total int
}

// read reads lists, which must ascend, until one is long or the batch is full.
func (o *ownedScan) read(ctx context.Context, r *rowreader.Reader, q *question, longList int) error {
	o.place, o.ends = map[string]int{}, make([][]int, len(o.asked))
	// All lists are read in one look-up, in key order.
	all := make([]linkkeys.Wanted, len(o.asked))
	for i := range o.asked {
		all[i] = linkkeys.Wanted{Range: o.asked[i].Range, Item: i}
	}
	// A list is done only when the next one begins, or if it is long.
	err := r.ScanTargets(ctx, q.d, all, func(i int) string { return q.lists[o.asked[i].list].url }, func(i int, end []byte) error {
		o.done = i
		if len(o.ends[i]) == longList {
			o.long, o.done = true, i+1
			return rowreader.ErrEnough
		}
		if o.total == readEnds && i > 0 {
			return rowreader.ErrEnough
		}
		at, ok := o.place[string(end)]
		if !ok {
			at = len(o.urls)
			o.urls = append(o.urls, string(end))
			o.place[o.urls[at]] = at
		}
		o.ends[i] = append(o.ends[i], at)
		o.total++
		return nil
	})
	if errors.Is(err, rowreader.ErrEnough) {
		return nil
	}
	o.done = len(o.asked)
	return err
}

// pack returns a kept list of the i-th list, or part of one.
func (o *ownedScan) pack(i int, uids []uid.UID, part bool) *keptList {
	l := &keptList{bucket: o.asked[i].bucket, count: o.asked[i].count}
	if o.long && i == o.done-1 {
		l.degree = unknownDegree
		return l
	}
	ends := o.ends[i]
	if n := len(ends); n > 0 && part {
		l.ends = [2]string{o.urls[ends[0]], o.urls[ends[n-1]]}
	}
	list := make([]uid.UID, 0, len(ends))
	for _, at := range ends {
		if uids[at] != 0 {
			list = append(list, uids[at])
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	l.degree, l.packed = len(list), linkkeys.AppendPacked([]byte{}, list)
	return l
}

// unknownDegree is the degree of a long list that no call has requested.
const unknownDegree = -1

// replyAll fills in the replies, as far as there is room in the message.
func (o *ownedReply) replyAll(ctx context.Context) error {
	if o.want == wantSamples && o.spec.Class != sample.All {
		o.hosts = Hosts{}
	}
	// The size of the answer is bounded: if it is full, the caller must ask again for the rest.
	size := 0
	for i, l := range o.kept {
		r := &o.replies[i]
		switch {
		case l == nil: // the reply is set already
			continue
		case size > linkkeys.PackedBytes:
			r.state = repliedLater
			continue
		// A long list has no packed form, so it is answered from its sketch or rows.
		case l.long():
			if err := o.replyLong(ctx, i); err != nil {
				return err
			}
		case o.want == wantSamples:
			if err := o.sample(ctx, i, l); err != nil {
				return err
			}
		case o.want == wantDegrees:
			r.state, r.degree = repliedKnown, l.degree
		default:
			r.state, r.degree, r.packed = repliedKnown, l.degree, l.packed
		}
		r.ends = l.ends
		if size += len(r.packed); size > linkkeys.PackedBytes && size > len(r.packed) {
			*r = reply{state: repliedLater}
		}
	}
	return nil
}

// sample replies with a sample of a kept list.
func (o *ownedReply) sample(ctx context.Context, i int, l *keptList) (err error) {
	r, page := &o.replies[i], o.lists[i].page
	r.state, r.degree = repliedKnown, l.degree
	// 1. A whole list, or a sketch that suffices, needs no decoding.
	if o.spec.N >= l.degree && o.spec.Class == sample.All {
		r.packed = l.packed
		return nil
	}
	consistent := o.spec.Mode == sample.ModeConsistent
	if s := l.sketch.Load(); s != nil && consistent {
		if drawn, ok := s.Sample(o.scratch[:0], o.spec.N, o.spec.Class); ok {
			o.scratch, r.packed = drawn, linkkeys.AppendPacked(nil, drawn)
			return nil
		}
	}
	// Otherwise the sample is drawn from the whole list.
	list, err := linkkeys.Unpack(make([]uid.UID, 0, l.degree), l.packed)
	if err != nil {
		return err
	}
	// 2. A consistent sample of a list with many links gets a sketch, which later calls use.
	sketched := consistent && l.degree > sample.SketchDegree && l.sketch.Load() == nil
	h := o.hosts
	if h == nil && sketched {
		h = Hosts{}
	}
	if h != nil {
		if err := o.learn(ctx, h, page, list); err != nil {
			return err
		}
	}
	if sketched {
		s := sample.NewSketch(list, sample.ClassesOf(h, page), sample.SketchSize(l.degree))
		o.graph.packed.sketched(o.keys[i], l, s)
	}
	o.scratch = sample.Sample(o.scratch[:0], list, page, o.spec, h)
	r.packed = linkkeys.AppendPacked(nil, o.scratch)
	return nil
}

// learn adds the hosts of a page and of others to h.
func (o *ownedReply) learn(ctx context.Context, h Hosts, page uid.UID, others []uid.UID) (err error) {
	if o.reader == nil {
		if o.reader, err = o.graph.Begin(ctx); err != nil {
			return err
		}
	}
	if err := o.graph.hosts.Add(ctx, o.reader, h, []uid.UID{page}); err != nil {
		return err
	}
	return o.graph.hosts.Add(ctx, o.reader, h, others)
}

func (o *ownedReply) close() {
	if o.reader != nil {
		o.reader.Close()
	}
}

const (
	// readEnds bounds the links of one batch. The first list may exceed it.
	readEnds = 1 << 20
)

var (
	errUncounted = errors.New("this machine does not count changes")
)

// HandleOwned handles links/own.
func (g *OwnedLists) HandleOwned(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var q question
	if err := peer.Decode(body, q.fields); err != nil {
		return nil, err
	}
	replies, err := g.reply(ctx, &q)
	if err != nil {
		return nil, err
	}
	return q.encodeReplies(replies), nil
}

// heldLinks returns the number of links that one call may hold.
func (g *OwnedLists) heldLinks() int { return int(g.maxHeld / bytesALink) }
