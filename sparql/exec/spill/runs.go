// Sorted files and their merge.

package spill

import (
	"container/heap"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// Runs are files of records in ascending order, and their merge. When a level has fan files,
// they become one of the next level. So the files of a query are few, and each record is
// written at most once a level.
type Runs struct {
	Scratch *Scratch
	Holder  *memory.Holder
	Fields  int
	Check   func() error
	Compare func(a, b *Record) int // never 0 for two records

	levels  [][]*RecordFile
	readers []*RecordReader // a heap, the least on top
	started bool
}

// Create makes a file for the next run. Its records must be added in order.
func (r *Runs) Create() (*RecordFile, error) { return r.Scratch.Create(r.Holder, r.Fields) }

// Add takes a run. The run must be complete.
func (r *Runs) Add(f *RecordFile) error {
	if err := f.Finish(); err != nil {
		return err
	}
	for level := 0; ; level++ {
		if level == len(r.levels) {
			r.levels = append(r.levels, nil)
		}
		r.levels[level] = append(r.levels[level], f)
		if len(r.levels[level]) < FanOut {
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

// merge makes one run of several and closes these.
func (r *Runs) merge(files []*RecordFile) (*RecordFile, error) {
	out, err := r.Create()
	if err != nil {
		return nil, err
	}
	if err := r.begin(files); err != nil {
		return nil, err
	}
	// 1. The records of all files, in order, make one run of the next level.
	for n := 0; ; n++ {
		if n%solution.BatchRows == 0 {
			if err := r.Check(); err != nil {
				return nil, err
			}
		}
		rec, err := r.Next()
		if err != nil {
			return nil, err
		}
		if rec == nil {
			break
		}
		if err := out.Add(*rec); err != nil {
			return nil, err
		}
	}
	// 2. The files are removed at once, because the disk may have no room for both.
	for _, f := range files {
		f.Close()
	}
	return out, out.Finish()
}

// Start begins to read all runs, after the last was added.
func (r *Runs) Start() error {
	var files []*RecordFile
	for _, level := range r.levels { // the short runs first
		files = append(files, level...)
		if len(files) > FanOut {
			merged, err := r.merge(files)
			if err != nil {
				return err
			}
			files = []*RecordFile{merged}
		}
	}
	r.levels = [][]*RecordFile{files}
	return r.begin(files)
}

func (r *Runs) begin(files []*RecordFile) error {
	r.readers, r.started = r.readers[:0], false
	for _, f := range files {
		reader := f.NewReader()
		ok, err := reader.Next()
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

// Next returns the next record of all, valid until the next call; nil at the end.
func (r *Runs) Next() (*Record, error) {
	if r.started && len(r.readers) > 0 {
		ok, err := r.readers[0].Next()
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
	return &r.readers[0].Record, nil
}

func (r *Runs) Close() {
	if r == nil {
		return
	}
	for _, level := range r.levels {
		for _, f := range level {
			f.Close()
		}
	}
	r.levels, r.readers = nil, nil
}

func (r *Runs) Len() int           { return len(r.readers) }
func (r *Runs) Less(i, j int) bool { return r.Compare(&r.readers[i].Record, &r.readers[j].Record) < 0 }
func (r *Runs) Swap(i, j int)      { r.readers[i], r.readers[j] = r.readers[j], r.readers[i] }
func (r *Runs) Push(any)           { panic("exec: no run is added while runs are merged") }
func (r *Runs) Pop() any {
	last := len(r.readers) - 1
	r.readers = r.readers[:last]
	return nil
}

// ByNumber is the order of the records' first numbers.
func ByNumber(a, b *Record) int {
	switch {
	case a.A < b.A:
		return -1
	case a.A > b.A:
		return 1
	}
	return 0
}
