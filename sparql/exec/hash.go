package exec

import "github.com/trefoildb/trefoil/sparql/expr"

// hashTable holds rows by the bindings of some slots. Rows that leave one of
// them unbound are compatible with many keys, and stand apart.
type hashTable struct {
	table
	keys    []int
	buckets map[string][]int32
	loose   []int32
	all     []int32
	key     []byte
}

const bucketBytes = 96

func newHashTable(q *query, name string, keys []int) *hashTable {
	h := &hashTable{keys: keys}
	h.table = table{holder: holder{account: &q.account, name: name}, width: q.width}
	return h
}

// build takes all rows of an operator.
func (h *hashTable) build(q *query, op operator) error {
	in := newBatch(q.width)
	h.buckets = make(map[string][]int32)
	for {
		in.clear()
		if err := q.check(); err != nil {
			return err
		}
		if err := op.next(in); err != nil || in.n == 0 {
			return err
		}
		for i := range in.n {
			if err := h.put(in.row(i)); err != nil {
				return err
			}
		}
	}
}

func (h *hashTable) put(row []string) error {
	at := int32(h.n)
	if err := h.add(row); err != nil {
		return err
	}
	h.all = append(h.all, at)
	if len(h.keys) == 0 {
		return nil
	}
	if !h.keyOf(row) {
		h.loose = append(h.loose, at)
		return nil
	}
	if list, ok := h.buckets[string(h.key)]; ok {
		h.buckets[string(h.key)] = append(list, at)
		return h.grow(8)
	}
	if err := h.grow(len(h.key) + bucketBytes); err != nil {
		return err
	}
	h.buckets[string(h.key)] = []int32{at}
	return nil
}

// keyOf makes the key of a row; false where a part is unbound.
func (h *hashTable) keyOf(row []string) bool {
	h.key = h.key[:0]
	for _, slot := range h.keys {
		if row[slot] == "" {
			return false
		}
		h.key = append(append(h.key, row[slot]...), 0, 1)
	}
	return true
}

// candidates returns the rows that may be compatible with row: two lists.
func (h *hashTable) candidates(row []string) (a, b []int32) {
	if len(h.keys) == 0 || !h.keyOf(row) {
		return h.all, nil
	}
	return h.buckets[string(h.key)], h.loose
}

func (h *hashTable) free() {
	h.drop()
	h.buckets, h.loose, h.all = nil, nil, nil
}

// joinKind says what a hashJoin gives.
type joinKind uint8

const (
	innerJoin joinKind = iota
	leftJoin
	minus
)

// hashJoin holds its right side and gives the rows of its left side joined with
// it, in the order of the left.
type hashJoin struct {
	q           *query
	kind        joinKind
	left, right operator
	shared      []int // slots that both sides may bind
	domain      []int // of minus: those that count as shared
	conds       []*expr.Expr
	env         *expr.Env
	seeded      bool // the right side starts from the feed too

	table *hashTable
	built bool
	view  rowView
	input *batch
	at    int
	lists [2][]int32
	some  bool // the row has a match
	begun bool
}

func (j *hashJoin) next(out *batch) error {
	if !j.built {
		if err := j.table.build(j.q, j.right); err != nil {
			return err
		}
		j.built = true
	}
	for steps := 0; ; steps++ {
		if steps%batchRows == 0 {
			if err := j.q.check(); err != nil {
				return err
			}
		}
		if j.at >= j.input.n {
			if out.n > 0 {
				return nil
			}
			j.input.clear()
			j.at = 0
			if err := j.left.next(j.input); err != nil || j.input.n == 0 {
				return err
			}
		}
		if err := j.probe(out); err != nil {
			return err
		}
		if out.full() {
			return nil
		}
	}
}

// probe gives matches of the row at j.at until out is full or it has no more.
func (j *hashJoin) probe(out *batch) error {
	row, ord := j.input.row(j.at), j.input.ord[j.at]
	if !j.begun {
		j.lists[0], j.lists[1] = j.table.candidates(row)
		j.some, j.begun = false, true
	}
	tries := 0
	for n := range j.lists {
		for len(j.lists[n]) > 0 {
			if out.full() {
				return nil
			}
			if tries++; tries%batchRows == 0 {
				if err := j.q.check(); err != nil {
					return err
				}
			}
			other := j.table.row(int(j.lists[n][0]))
			j.lists[n] = j.lists[n][1:]
			if !compatible(row, other, j.shared) {
				continue
			}
			if j.kind == minus {
				if j.sharesDomain(row, other) {
					j.some = true
					j.lists = [2][]int32{}
				}
				continue
			}
			merge(out.add(row, ord), other)
			ok, err := j.holds(out.row(out.n - 1))
			if err != nil {
				return err
			}
			if !ok {
				out.drop()
				continue
			}
			j.some = true
		}
	}
	if !j.some && j.kind != innerJoin {
		out.add(row, ord)
	}
	j.begun = false
	j.at++
	return nil
}

func (j *hashJoin) sharesDomain(a, b []string) bool {
	for _, slot := range j.domain {
		if a[slot] != "" && b[slot] != "" {
			return true
		}
	}
	return false
}

func (j *hashJoin) holds(row []string) (bool, error) {
	if len(j.conds) == 0 {
		return true, nil
	}
	return test(j.env, j.conds, j.view.of(row))
}

func (j *hashJoin) reset() {
	if j.seeded {
		j.table.free()
		j.built = false
		j.right.reset()
	}
	j.left.reset()
	j.input.clear()
	j.at, j.begun = 0, false
}

func (j *hashJoin) close() {
	j.table.free()
	j.left.close()
	j.right.close()
}

// lateralLeft is LeftJoin whose right side starts from the rows of the left.
type lateralLeft struct {
	q     *query
	left  operator
	right operator
	feed  *feed
	conds []*expr.Expr
	env   *expr.Env
	// inSequence: right gives rows in the order of the feed's, so that the rows of
	// left without a match can be put between them.
	inSequence bool

	view    rowView
	input   *batch
	got     *batch
	at      int
	matched []bool
	running bool
	due     int // the first row of left that may have to be given by itself
}

func (l *lateralLeft) next(out *batch) error {
	for {
		if err := l.q.check(); err != nil {
			return err
		}
		if !l.running {
			l.input.clear()
			if err := l.left.next(l.input); err != nil || l.input.n == 0 {
				return err
			}
			l.feed.rows = l.input
			l.right.reset()
			l.got.clear()
			l.matched = append(l.matched[:0], make([]bool, l.input.n)...)
			l.at, l.due, l.running = 0, 0, true
		}
		if err := l.run(out); err != nil {
			return err
		}
		if out.full() || out.n > 0 && !l.running {
			return nil
		}
	}
}

func (l *lateralLeft) run(out *batch) error {
	for !out.full() {
		if l.at >= l.got.n {
			l.got.clear()
			l.at = 0
			if err := l.right.next(l.got); err != nil {
				return err
			}
			if l.got.n == 0 {
				l.alone(out, l.input.n)
				l.running = l.due < l.input.n
				return nil
			}
		}
		from := int(l.got.ord[l.at])
		if l.inSequence && from > l.due {
			if l.alone(out, from); l.due < from {
				return nil
			}
		}
		row := l.got.row(l.at)
		l.at++
		if len(l.conds) > 0 {
			ok, err := test(l.env, l.conds, l.view.of(row))
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		l.matched[from] = true
		out.add(row, l.input.ord[from])
	}
	return nil
}

// alone gives the rows of left from l.due up to before that have no match.
func (l *lateralLeft) alone(out *batch, before int) {
	for l.due < before {
		if !l.matched[l.due] {
			if out.full() {
				return
			}
			out.add(l.input.row(l.due), l.input.ord[l.due])
		}
		l.due++
	}
}

func (l *lateralLeft) reset() { l.running = false; l.left.reset() }
func (l *lateralLeft) close() { l.left.close(); l.right.close() }
