package exec

import "errors"

// grace is the part of a hashJoin whose right side is in temporary files.
//
// Both sides are divided by the hash of the keys; the left rows of a partition
// meet the right rows of the same one. Rows that leave a key unbound stand apart:
// loose rows of the right meet all of the left, loose rows of the left all of the
// right. What the right rows of a pair do not find room for in the table at once
// is taken a table at a time, each with a pass over the left rows of the pair, a
// bit of each of which remembers whether it had a match.
type grace struct {
	join  *hashJoin
	right *partitions
	loose *rowFile // of the right

	read      bool // the left is in files
	left      *partitions
	leftLoose *rowFile

	pair    int        // the next one; fan is that of leftLoose
	sources []*rowFile // what is still to be read of the right side of the pair
	from    *rowReader // of the first of sources
	again   bool       // the record of from is still to be put into the table
	probe   *rowReader // of the left file of the pair; nil between passes
	file    *rowFile   // the left file of the pair
	last    bool       // no pass follows that of probe
	matched []uint64   // a bit for each left row of the pair
	base    int        // the number of the first row of join.input in the file
	numbers []record   // of the rows of join.input: a, b

	out    *runs // with keepOrder
	merged bool
	some   *batch
}

func newGrace(j *hashJoin) *grace {
	g := &grace{join: j}
	g.right = j.q.scratch.divide(&j.table.holder, j.q.width, 0)
	return g
}

func (g *grace) addRight(row []string) error {
	return g.add(g.right, &g.loose, record{row: row})
}

// add adds a row to its partition, or to the loose ones. Without keys all rows are
// of one partition.
func (g *grace) add(to *partitions, loose **rowFile, r record) (err error) {
	t := g.join.table
	if t.keyOf(r.row) || len(t.keys) == 0 {
		return to.add(t.key, r)
	}
	if *loose == nil {
		if *loose, err = g.join.q.scratch.create(&t.holder, g.join.q.width); err != nil {
			return err
		}
	}
	return (*loose).add(r)
}

func (g *grace) built() error {
	if g.loose != nil {
		if err := g.loose.finish(); err != nil {
			return err
		}
	}
	return g.right.finish()
}

// readLeft takes all rows of the left side.
func (g *grace) readLeft() error {
	j := g.join
	g.left = j.q.scratch.divide(&j.table.holder, j.q.width, 0)
	number := uint64(0)
	for {
		j.input.clear()
		if err := j.q.check(); err != nil {
			return err
		}
		if err := j.left.next(j.input); err != nil {
			return err
		}
		if j.input.n == 0 {
			break
		}
		for i := range j.input.n {
			r := record{a: number, b: uint64(uint32(j.input.ord[i])), row: j.input.row(i)}
			number++
			if err := g.add(g.left, &g.leftLoose, r); err != nil {
				return err
			}
		}
	}
	if g.leftLoose != nil {
		if err := g.leftLoose.finish(); err != nil {
			return err
		}
	}
	return g.left.finish()
}

func (g *grace) next(out *batch) error {
	if !g.read {
		if err := g.readLeft(); err != nil {
			return err
		}
		g.read = true
	}
	if !g.join.keepOrder {
		return g.produce(out)
	}
	if !g.merged {
		if err := g.sort(); err != nil {
			return err
		}
		g.merged = true
	}
	for !out.full() {
		r, err := g.out.next()
		if err != nil || r == nil {
			return err
		}
		out.addRead(r.row, int32(uint32(r.b)))
	}
	return nil
}

// sort writes all rows to files, a sorted one for each pass.
func (g *grace) sort() error {
	j := g.join
	g.out = &runs{
		scratch: &j.q.scratch, holder: &j.table.holder, fields: j.q.width, check: j.q.check,
		compare: byNumber,
	}
	g.some = newBatch(j.q.width)
	var run *rowFile
	var err error
	last := uint64(0)
	for {
		g.some.clear()
		if err := g.produce(g.some); err != nil {
			return err
		}
		if g.some.n == 0 {
			break
		}
		for i := range g.some.n {
			from := g.numbers[g.some.ord[i]]
			if run != nil && from.a < last {
				if err := g.out.add(run); err != nil {
					return err
				}
				run = nil
			}
			if run == nil {
				if run, err = g.out.create(); err != nil {
					return err
				}
			}
			last = from.a
			if err := run.add(record{a: from.a, b: from.b, row: g.some.row(i)}); err != nil {
				return err
			}
		}
	}
	if run != nil {
		if err := g.out.add(run); err != nil {
			return err
		}
	}
	return g.out.start()
}

// produce gives rows of the join; with keepOrder their ord are places in numbers.
func (g *grace) produce(out *batch) error {
	j := g.join
	for {
		for j.at < j.input.n && g.probe != nil {
			if err := j.probe(out); err != nil {
				return err
			}
			if out.full() {
				g.translate(out)
				return nil
			}
		}
		if out.n > 0 {
			g.translate(out)
			return nil
		}
		if err := j.q.check(); err != nil {
			return err
		}
		if g.probe == nil {
			ok, err := g.pass()
			if err != nil || !ok {
				return err
			}
		}
		if err := g.fill(); err != nil {
			return err
		}
	}
}

// translate turns places in the input into what the rows come from.
func (g *grace) translate(out *batch) {
	if g.join.keepOrder {
		return
	}
	for i, at := range out.ord {
		out.ord[i] = int32(uint32(g.numbers[at].b))
	}
}

// fill reads the next left rows of the pass, or ends it.
func (g *grace) fill() error {
	j := g.join
	g.base += j.input.n
	j.input.clear()
	j.at = 0
	g.numbers = g.numbers[:0]
	for !j.input.full() {
		ok, err := g.probe.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		j.input.addRead(g.probe.row, int32(j.input.n))
		g.numbers = append(g.numbers, record{a: g.probe.a, b: g.probe.b})
	}
	if j.input.n == 0 {
		g.probe = nil
	}
	return nil
}

// pass begins a pass over left rows: the next one of the pair, or of the next pair.
func (g *grace) pass() (bool, error) {
	j := g.join
	for len(g.sources) == 0 {
		g.endPair()
		if g.pair > fan {
			return false, nil
		}
		g.file = g.leftLoose
		if g.pair < fan {
			g.file = g.left.files[g.pair]
		}
		if g.file != nil {
			if g.pair == fan {
				for _, f := range g.right.files {
					g.source(f)
				}
			} else {
				g.source(g.right.files[g.pair])
			}
			g.source(g.loose)
			if len(g.sources) == 0 && j.kind != innerJoin {
				break // all of them are without a match
			}
		}
		g.pair++
	}
	if len(g.sources) == 0 {
		g.pair++
	}
	j.table.free()
	if j.kind != innerJoin {
		words := int((g.file.records + 63) / 64)
		if err := j.table.grow(8 * words); err != nil {
			return false, err
		}
		if g.matched == nil {
			g.matched = make([]uint64, words)
		}
	}
	if err := g.load(); err != nil {
		return false, err
	}
	g.last = len(g.sources) == 0
	g.probe = g.file.reader()
	g.base = 0
	j.input.clear()
	j.at, j.begun = 0, false
	return true, nil
}

func (g *grace) source(f *rowFile) {
	if f != nil {
		g.sources = append(g.sources, f)
	}
}

// load fills the table with right rows of the pair.
func (g *grace) load() error {
	t := g.join.table
	for len(g.sources) > 0 {
		if g.from == nil {
			g.from, g.again = g.sources[0].reader(), false
		}
		for n := 0; ; n++ {
			if n%batchRows == 0 {
				if err := g.join.q.check(); err != nil {
					return err
				}
			}
			if !g.again {
				ok, err := g.from.next()
				if err != nil {
					return err
				}
				if !ok {
					break
				}
			}
			err := t.put(g.from.row)
			g.again = errors.Is(err, ErrMemory)
			if g.again && t.n > 0 {
				return nil
			}
			if err != nil {
				return err
			}
		}
		g.sources, g.from = g.sources[1:], nil
	}
	return nil
}

// wasMatched reports whether a row of the input had a match in an earlier pass.
func (g *grace) wasMatched(at int) bool {
	if g.matched == nil {
		return false
	}
	n := g.base + at
	return g.matched[n/64]&(1<<(n%64)) != 0
}

// probed says that the row of the input at a place met all of the table.
func (g *grace) probed(out *batch, at int, some bool) {
	if some && g.matched != nil {
		n := g.base + at
		g.matched[n/64] |= 1 << (n % 64)
	}
	if !some && g.last && g.join.kind != innerJoin {
		out.add(g.join.input.row(at), g.join.input.ord[at])
	}
}

func (g *grace) endPair() {
	g.join.table.free()
	g.matched = nil
}

// rewind forgets the left side; the right one stays.
func (g *grace) rewind() {
	g.left.close()
	g.leftLoose.close()
	g.out.close()
	g.left, g.leftLoose, g.out, g.read, g.merged = nil, nil, nil, false, false
	g.pair, g.sources, g.from, g.again, g.probe, g.file = 0, nil, nil, false, nil, nil
	g.endPair()
}

func (g *grace) close() {
	g.rewind()
	g.right.close()
	g.loose.close()
}
