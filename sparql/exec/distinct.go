package exec

// distinct passes each row once, the first of the equal ones.
//
// Rows pass as they come while the set of those that were seen fits. From then on
// rows that are not in the set go to temporary files, divided by their hash; at
// the end of the input each file is read in the same way. Where rows must keep
// their order, those that pass then are numbered, written and merged.
type distinct struct {
	q         *query
	in        operator
	slots     []int
	keepOrder bool
	holder

	seen map[string]struct{}
	key  []byte
	seq  uint64

	parts  *partitions // of what is being read; nil while its rows fit
	todo   []part
	level  int // of what is being read
	file   *rowFile
	reader *rowReader // of file; nil for the input
	ended  bool       // the input

	run    *rowFile // of what passes from file
	runs   *runs
	merged bool
}

// seenBytes are counted for a row of the set besides its key.
const seenBytes = 64

// maxLevel ends partitions in partitions that never get smaller.
const maxLevel = 64

func (d *distinct) next(out *batch) error {
	for !d.ended {
		if err := d.q.check(); err != nil {
			return err
		}
		if err := d.in.next(out); err != nil {
			return err
		}
		if out.n == 0 {
			d.ended = true
			if err := d.descend(); err != nil {
				return err
			}
			break
		}
		if err := d.pass(out); err != nil || out.n > 0 {
			return err
		}
	}
	if !d.keepOrder {
		return d.files(out)
	}
	if !d.merged {
		if err := d.files(out); err != nil {
			return err
		}
		if d.runs == nil {
			return nil
		}
		if err := d.runs.start(); err != nil {
			return err
		}
		d.merged = true
	}
	for !out.full() {
		r, err := d.runs.next()
		if err != nil || r == nil {
			return err
		}
		out.addRead(r.row, int32(uint32(r.b)))
	}
	return nil
}

// pass keeps the rows of a batch of the input that were not seen.
func (d *distinct) pass(out *batch) error {
	n := 0
	for i := range out.n {
		row := out.row(i)
		d.seq++
		ok, err := d.fresh(d.seq, uint64(uint32(out.ord[i])), row)
		if err != nil {
			return err
		}
		if ok {
			if n < i {
				copy(out.row(n), row)
				out.ord[n] = out.ord[i]
			}
			n++
		}
	}
	out.truncate(n)
	return nil
}

// fresh reports whether a row was not seen. One that the set has no room for goes to
// a file, with its number and its ord.
func (d *distinct) fresh(number, ord uint64, row []string) (bool, error) {
	d.key = d.key[:0]
	for _, slot := range d.slots {
		d.key = append(append(d.key, row[slot]...), 0, 1)
	}
	if _, ok := d.seen[string(d.key)]; ok {
		return false, nil
	}
	if d.parts == nil {
		err := d.grow(len(d.key) + seenBytes)
		if err == nil {
			if d.seen == nil {
				d.seen = make(map[string]struct{})
			}
			d.seen[string(d.key)] = struct{}{}
			return true, nil
		}
		if !d.q.spills() || len(d.seen) == 0 || d.level >= maxLevel {
			return false, err
		}
		d.parts = d.q.scratch.divide(&d.holder, d.q.width, d.level)
	}
	return false, d.parts.add(d.key, record{a: number, b: ord, row: row})
}

// descend puts the files of what was read on the stack.
func (d *distinct) descend() error {
	d.seen = nil
	d.free()
	if d.parts == nil {
		return nil
	}
	if err := d.parts.finish(); err != nil {
		return err
	}
	d.todo = d.parts.pushTo(d.todo)
	d.parts = nil
	return nil
}

// files gives what passes from the files, or with keepOrder makes runs of all of it.
func (d *distinct) files(out *batch) error {
	for n := 0; !out.full(); n++ {
		if n%batchRows == 0 {
			if err := d.q.check(); err != nil {
				return err
			}
		}
		if d.reader == nil {
			if len(d.todo) == 0 {
				return nil
			}
			top := d.todo[len(d.todo)-1]
			d.todo = d.todo[:len(d.todo)-1]
			d.file, d.level, d.reader = top.file, top.depth+1, top.file.reader()
		}
		ok, err := d.reader.next()
		if err != nil {
			return err
		}
		if !ok {
			if err := d.endFile(); err != nil {
				return err
			}
			continue
		}
		if ok, err = d.fresh(d.reader.a, d.reader.b, d.reader.row); err != nil {
			return err
		}
		switch {
		case !ok:
		case d.keepOrder:
			if err := d.number(d.reader.record); err != nil {
				return err
			}
		default:
			out.addRead(d.reader.row, int32(uint32(d.reader.b)))
		}
	}
	return nil
}

// number writes a row that passes to the run of the file that is being read.
func (d *distinct) number(r record) (err error) {
	if d.runs == nil {
		d.runs = &runs{scratch: &d.q.scratch, holder: &d.holder, fields: d.q.width, check: d.q.check, compare: byNumber}
	}
	if d.run == nil {
		if d.run, err = d.runs.create(); err != nil {
			return err
		}
	}
	return d.run.add(r)
}

func (d *distinct) endFile() error {
	d.file.close()
	d.file, d.reader = nil, nil
	if d.run != nil {
		if err := d.runs.add(d.run); err != nil {
			return err
		}
		d.run = nil
	}
	return d.descend()
}

func (d *distinct) drop() {
	d.parts.close()
	for _, p := range d.todo {
		p.file.close()
	}
	d.file.close()
	d.run.close()
	d.runs.close()
	d.seen, d.seq, d.parts, d.todo, d.level, d.file, d.reader = nil, 0, nil, nil, 0, nil, nil
	d.ended, d.run, d.runs, d.merged = false, nil, nil, false
	d.free()
}

func (d *distinct) reset()           { d.drop(); d.in.reset() }
func (d *distinct) close()           { d.drop(); d.in.close() }
func (d *distinct) spiller() *holder { return &d.holder }

// reduced passes each row, and most of the equal ones that follow it soon once:
// what it remembers is bounded, and forgotten when it is full.
type reduced struct {
	q     *query
	in    operator
	slots []int
	holder
	seen map[string]struct{}
	key  []byte
}

// maxReduced is how many bytes reduced remembers.
const maxReduced = 1 << 20

func (r *reduced) next(out *batch) error {
	for {
		if err := r.q.check(); err != nil {
			return err
		}
		if err := r.in.next(out); err != nil || out.n == 0 {
			return err
		}
		n := 0
		for i := range out.n {
			if !r.fresh(out.row(i)) {
				continue
			}
			if n < i {
				copy(out.row(n), out.row(i))
				out.ord[n] = out.ord[i]
			}
			n++
		}
		if out.truncate(n); n > 0 {
			return nil
		}
	}
}

func (r *reduced) fresh(row []string) bool {
	r.key = r.key[:0]
	for _, slot := range r.slots {
		r.key = append(append(r.key, row[slot]...), 0, 1)
	}
	if _, ok := r.seen[string(r.key)]; ok {
		return false
	}
	bytes := len(r.key) + seenBytes
	if r.held+int64(bytes) > maxReduced || !r.fits(bytes) {
		clear(r.seen)
		r.free()
	}
	if bytes > maxReduced/4 || !r.fits(bytes) {
		return true
	}
	r.take(bytes)
	if r.seen == nil {
		r.seen = make(map[string]struct{})
	}
	r.seen[string(r.key)] = struct{}{}
	return true
}

func (r *reduced) reset() { r.drop(); r.in.reset() }
func (r *reduced) close() { r.drop(); r.in.close() }
func (r *reduced) drop()  { r.seen = nil; r.free() }
