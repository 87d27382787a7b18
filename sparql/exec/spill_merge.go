package exec

import "container/heap"

// runs are files of records in ascending order, which are merged. As soon as there
// are fan of one level they become one of the next, so that the files of a query
// are few, and each record is written no more often than there are levels.
type runs struct {
	scratch *scratch
	holder  *holder
	fields  int
	check   func() error
	compare func(a, b *record) int // never 0 for two records

	levels  [][]*rowFile
	readers []*rowReader // a heap, the least on top
	started bool
}

func (r *runs) create() (*rowFile, error) { return r.scratch.create(r.holder, r.fields) }

// add takes a run that is complete.
func (r *runs) add(f *rowFile) error {
	if err := f.finish(); err != nil {
		return err
	}
	for level := 0; ; level++ {
		if level == len(r.levels) {
			r.levels = append(r.levels, nil)
		}
		r.levels[level] = append(r.levels[level], f)
		if len(r.levels[level]) < fan {
			return nil
		}
		merged, err := r.merge(r.levels[level])
		if err != nil {
			return err
		}
		r.levels[level] = nil
		f = merged
	}
}

// merge makes one run of several, which it closes.
func (r *runs) merge(files []*rowFile) (*rowFile, error) {
	out, err := r.create()
	if err != nil {
		return nil, err
	}
	if err := r.begin(files); err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		if n%batchRows == 0 {
			if err := r.check(); err != nil {
				return nil, err
			}
		}
		rec, err := r.next()
		if err != nil {
			return nil, err
		}
		if rec == nil {
			break
		}
		if err := out.add(*rec); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		f.close()
	}
	return out, out.finish()
}

// start begins to read all runs, after the last was added.
func (r *runs) start() error {
	var files []*rowFile
	for _, level := range r.levels { // the short runs first
		files = append(files, level...)
		if len(files) > fan {
			merged, err := r.merge(files)
			if err != nil {
				return err
			}
			files = []*rowFile{merged}
		}
	}
	r.levels = [][]*rowFile{files}
	return r.begin(files)
}

func (r *runs) begin(files []*rowFile) error {
	r.readers, r.started = r.readers[:0], false
	for _, f := range files {
		reader := f.reader()
		ok, err := reader.next()
		if err != nil {
			return err
		}
		if ok {
			r.readers = append(r.readers, reader)
		}
	}
	heap.Init(r)
	return nil
}

// next returns the next record of all, valid until the next call; nil at the end.
func (r *runs) next() (*record, error) {
	if r.started && len(r.readers) > 0 {
		ok, err := r.readers[0].next()
		if err != nil {
			return nil, err
		}
		if ok {
			heap.Fix(r, 0)
		} else {
			heap.Pop(r)
		}
	}
	r.started = true
	if len(r.readers) == 0 {
		return nil, nil
	}
	return &r.readers[0].record, nil
}

func (r *runs) close() {
	if r == nil {
		return
	}
	for _, level := range r.levels {
		for _, f := range level {
			f.close()
		}
	}
	r.levels, r.readers = nil, nil
}

func (r *runs) Len() int           { return len(r.readers) }
func (r *runs) Less(i, j int) bool { return r.compare(&r.readers[i].record, &r.readers[j].record) < 0 }
func (r *runs) Swap(i, j int)      { r.readers[i], r.readers[j] = r.readers[j], r.readers[i] }
func (r *runs) Push(any)           { panic("exec: no run is added while runs are merged") }
func (r *runs) Pop() any {
	last := len(r.readers) - 1
	r.readers = r.readers[:last]
	return nil
}

// byNumber is the order of the records' first numbers.
func byNumber(a, b *record) int {
	switch {
	case a.a < b.a:
		return -1
	case a.a > b.a:
		return 1
	}
	return 0
}
