// The rows that a machine must read in a backfill.

package recovery

import (
	"bytes"
	"slices"
	"sort"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Backfill lists the rows of a machine that may fill a place of target. All other rows need not
// be read, because [Resolver.Fills] returns nothing for them. It is immutable.
type Backfill struct {
	// Ranges are disjoint and ascend, those of the storage table first.
	Ranges []BackfillRange
	// Shares estimates the part of the machine's rows that is read, by order as in
	// [triple.Orders]. It counts segments.
	Shares [len(triple.Orders)]float64
	// lost are the ranges of OSP that have no live owner in base.
	lost []triple.Range
}

// BackfillRange is a range of rows that is read.
type BackfillRange struct {
	triple.Range
	// Replica is the table: replicas or storage.
	Replica bool
	// Sparse marks a range of POS if only triples without a live owner of OSP are needed
	// from it. [Backfill.Skip] returns the key at which reading continues.
	Sparse bool
}

// maxCombinations bounds the work of [Joint.Backfill]: some 200 machines. Beyond it
// everything is read.
const maxCombinations = 64 << 20

// Backfill returns the rows that machine self must read. The places of a triple follow from
// the owners of its keys in base and in target. An order has few pairs of owners, even if it
// has many segments. So it tries all combinations of pairs with the rule for rows,
// [Resolver.Fills]. If a combination fills a place, the pieces of its pairs are read.
func (j *Joint) Backfill(self trie.MachineID) *Backfill {
	return j.backfill(self, maxCombinations)
}

func (j *Joint) backfill(self trie.MachineID, limit int) *Backfill {
	if !j.joint() || !j.BaseLive.Contains(self) {
		return &Backfill{}
	}
	p := &planner{self: self, resolver: j.Resolver()}
	for i, o := range triple.Orders {
		p.divide(i, o)
	}
	if len(p.pairs[0])*len(p.pairs[1])*len(p.pairs[2]) > limit {
		return fullBackfill()
	}
	p.replicated = j.Base.firstOwnersBefore(self)
	p.try()
	return p.backfill()
}

// fullBackfill returns the backfill that reads all rows.
func fullBackfill() *Backfill {
	b := &Backfill{}
	for i, o := range triple.Orders {
		b.Ranges = append(b.Ranges, BackfillRange{Range: triple.OrderRange(o)})
		b.Shares[i] = 1
	}
	b.Ranges = append(b.Ranges, BackfillRange{Range: triple.OrderRange(triple.SPO), Replica: true})
	return b
}

// firstOwnersBefore returns the first owners of triples that may have an extra replica on machine self:
// the last of Required copies is at most Required - 1 machines after the first owner.
func (l Layout) firstOwnersBefore(self trie.MachineID) (firstOwners trie.Ring) {
	for _, from := range l.Placement.Machines() {
		steps := 1
		for m := range l.Placement.Machines().After(from) {
			if m == self && steps < l.Required() {
				firstOwners = append(firstOwners, from)
			}
			steps++
		}
	}
	return firstOwners
}

// pair is the owners of a key in base and in target.
type pair struct{ base, target trie.MachineID }

// piece is a range of keys of one order with the same owners.
type piece struct {
	triple.Range
	pair int // in planner.pairs
}

// planner finds the pieces that a machine reads. Its arrays are indexed like triple.Orders.
type planner struct {
	self trie.MachineID
	// replicated are the first owners whose extra replicas may be on self.
	replicated trie.Ring
	resolver   *Resolver
	pairs      [len(triple.Orders)][]pair
	pieces     [len(triple.Orders)][]piece
	// read and readReplica are indexed by pair: true if rows with that pair fill a place.
	// Replicas are rows of SPO.
	read        [len(triple.Orders)][]bool
	readReplica []bool
}

// divide finds the pieces of an order and their pairs of owners.
func (p *planner) divide(i int, o triple.Order) {
	base, target := p.resolver.joint.Base, p.resolver.joint.Target
	all, known := triple.OrderRange(o), map[pair]int{}
	for b := range base.Trie.Range(all.Lo, all.Hi) {
		within := all.Intersect(triple.Range{Lo: b.Lo, Hi: b.Hi})
		for t := range target.Trie.Range(within.Lo, within.Hi) {
			owners := pair{base.Placement.Owner(b), target.Placement.Owner(t)}
			at, ok := known[owners]
			if !ok {
				at = len(p.pairs[i])
				known[owners] = at
				p.pairs[i] = append(p.pairs[i], owners)
			}
			p.pieces[i] = append(p.pieces[i], piece{within.Intersect(triple.Range{Lo: t.Lo, Hi: t.Hi}), at})
		}
	}
	p.read[i] = make([]bool, len(p.pairs[i]))
	if i == 0 {
		p.readReplica = make([]bool, len(p.pairs[i]))
	}
}

// try marks the pairs whose rows fill a place, over all combinations in which this machine may
// have a row.
func (p *planner) try() {
	graphs, last := p.graphs()
	live := p.resolver.joint.BaseLive
	for s, spo := range p.pairs[0] {
		for q, pos := range p.pairs[1] {
			for o, osp := range p.pairs[2] {
				// The machine has a row of SPO, POS or OSP, or an extra replica.
				from := spo.base
				if pos.base == osp.base {
					from = pos.base
				}
				at := [len(triple.Orders)]int{s, q, o, -1}
				if spo.base == p.self || pos.base == p.self || osp.base == p.self || p.replicated.Contains(from) {
					for _, at[3] = range graphs {
						p.combine(at)
					}
				}
				// It has the row of GSPO, and no other row lives.
				if len(last) > 0 && !live.Contains(spo.base) && !live.Contains(pos.base) && !live.Contains(osp.base) {
					for _, at[3] = range last {
						p.combine(at)
					}
				}
			}
		}
	}
}

// graphs returns the pairs of GSPO to try: graphs if the machine has another row of the triple,
// last if all other owners are down. -1 stands for the default graph. One pair stands for all
// owners that are down and replaced, because they have equal results. A row of GSPO that moves
// fills its new place.
func (p *planner) graphs() (graphs, last []int) {
	j := p.resolver.joint
	graphs = []int{-1}
	for g, owners := range p.pairs[3] {
		switch {
		case owners.base == p.self:
			last = append(last, g)
			p.read[3][g] = owners.target != p.self && j.Members.Contains(owners.target)
		case len(graphs) == 1 && !j.BaseLive.Contains(owners.base) && j.Members.Contains(owners.target):
			graphs = append(graphs, g)
		}
	}
	return graphs, last
}

// combine marks the rows of this machine that fill places of a triple with these owners.
func (p *planner) combine(at [len(triple.Orders)]int) {
	// 1. The places of such a triple.
	r := p.resolver
	r.base, r.other = r.base[:0], r.other[:0]
	for i, pair := range at {
		if pair >= 0 {
			r.base = append(r.base, Place{Machine: p.pairs[i][pair].base, Order: triple.Orders[i]})
			r.other = append(r.other, Place{Machine: p.pairs[i][pair].target, Order: triple.Orders[i]})
		}
	}
	r.base = r.joint.Base.appendExtras(r.base)
	r.other = r.joint.Target.appendExtras(r.other)
	// 2. The rows of this machine that fill one of them.
	r.target = r.other
	for _, s := range r.target {
		from, ok := r.source(s)
		if !ok || from.Machine != p.self {
			continue
		}
		if i := slices.Index(triple.Orders[:], from.Order); from.Extra {
			p.readReplica[at[i]] = true
		} else {
			p.read[i][at[i]] = true
		}
	}
}

// backfill collects the pieces that are read.
func (p *planner) backfill() *Backfill {
	b := &Backfill{}
	// 1. The lost ranges of OSP: sparse ranges are read only for triples in these.
	for _, piece := range p.pieces[2] {
		if !p.resolver.joint.BaseLive.Contains(p.pairs[2][piece.pair].base) {
			b.lost = append(b.lost, withAnnotations(piece.Range))
		}
	}
	lost := float64(len(b.lost)) / float64(len(p.pieces[2]))
	b.lost = union(b.lost)
	// 2. The pieces of the storage table.
	for i := range p.pieces {
		var full, sparse []triple.Range
		mine := 0
		for _, piece := range p.pieces[i] {
			owners := p.pairs[i][piece.pair]
			// A row of POS that stays repairs only if the owner of OSP is down, so its range is
			// sparse.
			switch {
			case owners.base != p.self:
				continue
			case !p.read[i][piece.pair]:
			case triple.Orders[i] == triple.POS && owners.target == p.self:
				sparse = append(sparse, withAnnotations(piece.Range))
			default:
				full = append(full, withAnnotations(piece.Range))
			}
			mine++
		}
		b.Shares[i] = (float64(len(full)) + float64(len(sparse))*lost) / float64(max(mine, 1))
		b.add(union(full), union(sparse))
	}
	// 3. The replica table, by pieces of SPO.
	var replicas []triple.Range
	for _, piece := range p.pieces[0] {
		if p.readReplica[piece.pair] {
			replicas = append(replicas, withAnnotations(piece.Range))
		}
	}
	for _, r := range union(replicas) {
		b.Ranges = append(b.Ranges, BackfillRange{Range: r, Replica: true})
	}
	return b
}

// add adds the ranges of one order. The part of a sparse range that is in full is read in full.
func (b *Backfill) add(full, sparse []triple.Range) {
	first := len(b.Ranges)
	for _, r := range full {
		b.Ranges = append(b.Ranges, BackfillRange{Range: r})
	}
	for _, rest := range sparse {
		// Cut what full has out of the sparse range; both ascend.
		for _, f := range full {
			if rest.Intersect(f).Empty() {
				continue
			}
			if left := (triple.Range{Lo: rest.Lo, Hi: f.Lo}); bytes.Compare(left.Lo, left.Hi) < 0 {
				b.Ranges = append(b.Ranges, BackfillRange{Range: left, Sparse: true})
			}
			rest.Lo = f.Hi
		}
		if !rest.Empty() {
			b.Ranges = append(b.Ranges, BackfillRange{Range: rest, Sparse: true})
		}
	}
	slices.SortFunc(b.Ranges[first:], func(x, y BackfillRange) int { return bytes.Compare(x.Lo, y.Lo) })
}

// withAnnotations returns the range with the annotations of its last row, because earlier releases may
// have split a segment between the two.
func withAnnotations(r triple.Range) triple.Range {
	if at := triple.SplitBound(r.Hi); len(at) < len(r.Hi) {
		_, r.Hi = triple.AnnotationBounds(at)
	}
	return r
}

// union returns disjoint ranges with the same keys, ascending. The lower bounds of ranges must
// ascend.
func union(ranges []triple.Range) (united []triple.Range) {
	for _, r := range ranges {
		if n := len(united); n > 0 && bytes.Compare(r.Lo, united[n-1].Hi) <= 0 {
			if bytes.Compare(r.Hi, united[n-1].Hi) > 0 {
				united[n-1].Hi = r.Hi
			}
			continue
		}
		united = append(united, r)
	}
	return united
}

// Skip returns the key at which reading of a sparse range continues after a row of POS. osp is
// the key of the row's triple in OSP. The result is greater than row, and no needed triple lies
// between the two. It is nil if the next row must be read. It uses the memory of dst.
func (b *Backfill) Skip(dst, row, osp []byte) []byte {
	if triple.HasLong(row) {
		// A long term sorts between the row of the term that equals its first bytes and the
		// annotations of that row, which may be needed.
		return nil
	}
	// 1. The next lost range of OSP; if the row is in one, its triple is needed.
	i := sort.Search(len(b.lost), func(i int) bool { return bytes.Compare(osp, b.lost[i].Hi) < 0 })
	var from []byte
	if i < len(b.lost) {
		if b.lost[i].Contains(osp) {
			return nil
		}
		from = b.lost[i].Lo
	}
	// 2. The same predicate, from the first lost object.
	if dst = triple.AppendTwinBound(dst[:0], row, from); bytes.Compare(dst, row) <= 0 {
		return nil
	}
	return dst
}
