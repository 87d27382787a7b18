// Answers about the lists that this machine reads.

package ranges

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// maxPacked is how many links a list has at most that is kept packed, unless
	// Options.LongList says otherwise: longer ones are long.
	maxPacked = 1 << 14
	// readEnds bounds the links that are read at a time, and packedBytes an answer, but
	// for what is first in it.
	readEnds    = 1 << 20
	packedBytes = 16 << 20
)

var (
	errUncounted = errors.New("this machine does not count changes")
	errEnough    = errors.New("enough at a time")
)

// own answers a question about lists that this machine reads under the view of an epoch.
//
// Counts are taken first: a kept list is then at least as new as the call. Whether this
// machine may answer is found out by reading, also where there is nothing to be read.
//
// Of a kept list whose count is the same there is nothing that is not settled: all its
// rows were, when they were read, and there are no others since. And what a machine reads
// under the view of an epoch does not change. So nothing is to be found out of the ranges
// of kept lists that were read, or looked at, under this epoch before.
func (g *Graph) own(ctx context.Context, q *question) ([]reply, error) {
	o := &owning{graph: g, question: q, replies: make([]reply, len(q.lists)),
		keys: make([]listKey, len(q.lists)), kept: make([]*keptList, len(q.lists))}
	for i := range q.lists {
		o.keys[i] = g.packed.key(q.d, q.lists[i].page, q.lists[i].part)
	}
	g.packed.get(o.keys, o.kept)
	var looked []triple.Range
	var fresh []int
	for i, l := range o.kept {
		if l != nil && l.count != g.store.ChangeCount(l.bucket) {
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
			if err := o.miss(i); err != nil {
				return nil, err
			}
		}
	}
	if err := o.readMissing(ctx, looked); err != nil {
		return nil, err
	}
	for _, i := range fresh {
		o.kept[i].checked.Store(q.epoch)
	}
	defer o.close()
	return o.replies, o.answer(ctx)
}

// owning is one question that is answered.
type owning struct {
	graph *Graph
	*question
	replies []reply
	keys    []listKey
	kept    []*keptList // by list; nil where nothing is known
	missing []missing
	same    [][2]int // lists that are asked for again, and where they were
	hosts   hosts
	reader  *reader // nil until it is needed
	scratch []uid.UID
}

// missing is a list that is to be read.
type missing struct {
	triple.Range
	list   int
	bucket uint32
	count  uint64 // from before it is read
}

// rangeOf returns the rows of a list.
func (o *owning) rangeOf(i int) triple.Range {
	l := &o.lists[i]
	if l.part.Lo != nil {
		return l.part
	}
	return o.graph.listRange(o.d, l.url)
}

// miss notes that a list is to be read.
func (o *owning) miss(i int) error {
	m := missing{Range: o.rangeOf(i), list: i}
	var ok bool
	if m.bucket, ok = o.graph.store.ChangeBucket(m.Lo); !ok {
		return errUncounted
	}
	m.count = o.graph.store.ChangeCount(m.bucket)
	o.missing = append(o.missing, m)
	return nil
}

// readMissing reads lists, as many at a time as may be, and keeps them packed; of long
// ones it notes that they are long. It also finds out whether this machine reads ranges.
func (o *owning) readMissing(ctx context.Context, looked []triple.Range) error {
	g := o.graph
	slices.SortFunc(o.missing, func(a, b missing) int { return bytes.Compare(a.Lo, b.Lo) })
	rest := o.missing[:0]
	for _, m := range o.missing {
		if n := len(rest); n > 0 && bytes.Equal(rest[n-1].Lo, m.Lo) {
			o.same = append(o.same, [2]int{m.list, rest[n-1].list})
			continue
		}
		rest = append(rest, m)
	}
	for first := true; first || len(rest) > 0; first = false {
		ranges := looked
		for i := range rest {
			ranges = append(ranges, rest[i].Range)
		}
		looked = nil
		read := owned{asked: rest}
		err := g.store.ReadOwn(ctx, o.epoch, ranges, func(ctx context.Context, sn *node.Snapshot) error {
			return read.read(ctx, &reader{graph: g, source: sn.Source()}, o.question)
		})
		if err != nil {
			return err
		}
		uids, degraded, err := g.namedOf(ctx, read.urls)
		if err != nil {
			return err
		}
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

// namedOf returns the UIDs of pages, which get some if they have none, and whether some
// came from other orders.
func (g *Graph) namedOf(ctx context.Context, urls []string) (uids []uid.UID, degraded bool, err error) {
	if len(urls) == 0 {
		return nil, false, nil
	}
	err = g.read(ctx, func(r *reader) error {
		uids, err = r.named(ctx, urls)
		degraded = r.degraded()
		return err
	})
	return uids, degraded, err
}

// owned are lists as they are read from this machine's rows.
type owned struct {
	asked []missing
	done  int            // so many of the first are read, or long
	urls  []string       // of all ends, each once
	place map[string]int // of a URL among them
	ends  [][]int        // by list: places
	long  bool           // the last one that is done is
	total int
}

// read reads lists, which ascend, until one is long or they are enough.
func (o *owned) read(ctx context.Context, r *reader, q *question) error {
	o.place, o.ends = map[string]int{}, make([][]int, len(o.asked))
	all := make([]wanted, len(o.asked))
	for i := range o.asked {
		all[i] = wanted{o.asked[i].Range, i}
	}
	err := r.targetsIn(ctx, q.d, all, func(i int) string { return q.lists[o.asked[i].list].url }, func(i int, end []byte) error {
		o.done = i
		if len(o.ends[i]) == r.graph.o.LongList {
			o.long, o.done = true, i+1
			return errEnough
		}
		if o.total == readEnds && i > 0 {
			return errEnough
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
	if errors.Is(err, errEnough) {
		return nil
	}
	o.done = len(o.asked)
	return err
}

// pack returns what is known of the i-th list, or part of one.
func (o *owned) pack(i int, uids []uid.UID, part bool) *keptList {
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
	l.degree, l.packed = len(list), appendPacked([]byte{}, list)
	return l
}

// unknownDegree is that of a long list which nobody has asked about.
const unknownDegree = -1

// answer answers what is known, as far as there is room.
func (o *owning) answer(ctx context.Context) error {
	if o.want == wantSamples && o.spec.Class != sample.All {
		o.hosts = hosts{}
	}
	size := 0
	for i, l := range o.kept {
		r := &o.replies[i]
		switch {
		case l == nil: // that is the answer
			continue
		case size > packedBytes:
			r.state = repliedLater
			continue
		case l.long():
			if err := o.answerLong(ctx, i); err != nil {
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
		if size += len(r.packed); size > packedBytes && size > len(r.packed) {
			*r = reply{state: repliedLater}
		}
	}
	return nil
}

// sample answers with a sample of a list that is kept.
func (o *owning) sample(ctx context.Context, i int, l *keptList) (err error) {
	r, page := &o.replies[i], o.lists[i].page
	r.state, r.degree = repliedKnown, l.degree
	if o.spec.N >= l.degree && o.spec.Class == sample.All {
		r.packed = l.packed
		return nil
	}
	consistent := o.spec.Mode == sample.ModeConsistent
	if s := l.sketch.Load(); s != nil && consistent {
		if drawn, ok := s.Sample(o.scratch[:0], o.spec.N, o.spec.Class); ok {
			o.scratch, r.packed = drawn, appendPacked(nil, drawn)
			return nil
		}
	}
	list, err := unpack(make([]uid.UID, 0, l.degree), l.packed)
	if err != nil {
		return err
	}
	sketched := consistent && l.degree > sample.SketchDegree && l.sketch.Load() == nil
	h := o.hosts
	if h == nil && sketched {
		h = hosts{}
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
	r.packed = appendPacked(nil, o.scratch)
	return nil
}

// learn adds the hosts of a page and of others to h.
func (o *owning) learn(ctx context.Context, h hosts, page uid.UID, others []uid.UID) (err error) {
	if o.reader == nil {
		if o.reader, err = o.graph.begin(ctx); err != nil {
			return err
		}
	}
	if err := o.reader.learn(ctx, h, []uid.UID{page}); err != nil {
		return err
	}
	return o.reader.learn(ctx, h, others)
}

func (o *owning) close() {
	if o.reader != nil {
		o.reader.close()
	}
}
