// DISTINCT and REDUCED.

package blocking

import (
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// Distinct passes each row once, the first of the equal ones.
//
// Rows pass as they come while the set of seen rows fits. It has their digests. From then on a row goes to a
// temporary file, divided by its hash, if the set lacks it. At the end of the input each file
// is read in the same way. If rows must keep their order, the passing ones are then numbered,
// written and merged.
type Distinct struct {
	Exec      *exec.Execution
	Input     exec.Operator
	Slots     []int
	KeepOrder bool
	memory.Holder

	seen map[expr.Digest]struct{}
	key  []byte
	seq  uint64

	parts  *spill.Partitions // of the current input; nil while its rows fit
	todo   []spill.Part
	level  int // of the current input
	file   *spill.RecordFile
	reader *spill.RecordReader // of file; nil for the input
	ended  bool                // the input

	run    *spill.RecordFile // of the passing rows of file
	runs   *spill.Runs
	merged bool
}

// maxLevel bounds the depth of partitions, because partitions in partitions may never get
// smaller.
const maxLevel = 64

func (d *Distinct) Next(out *solution.Batch) error {
	// 1. Pass the input's rows as they come, while the set has room.
	for !d.ended {
		if err := d.Exec.Check(); err != nil {
			return err
		}
		if err := d.Input.Next(out); err != nil {
			return err
		}
		if out.Len == 0 {
			d.ended = true
			if err := d.descend(); err != nil {
				return err
			}
			break
		}
		if err := d.pass(out); err != nil || out.Len > 0 {
			return err
		}
	}
	// 2. Read the files of the other rows.
	if !d.KeepOrder {
		return d.files(out)
	}
	// 3. If rows must keep their order, all files must be read before the first row of them is
	// given.
	if !d.merged {
		if err := d.files(out); err != nil {
			return err
		}
		if d.runs == nil {
			return nil
		}
		if err := d.runs.Start(); err != nil {
			return err
		}
		d.merged = true
	}
	for !out.Full() {
		r, err := d.runs.Next()
		if err != nil || r == nil {
			return err
		}
		out.AddRead(r.Row, int32(uint32(r.B)))
	}
	return nil
}

// pass keeps a row of an input batch if it was not seen.
func (d *Distinct) pass(out *solution.Batch) error {
	n := 0
	for i := range out.Len {
		row := out.Row(i)
		d.seq++
		ok, err := d.fresh(d.seq, uint64(uint32(out.Origin[i])), row)
		if err != nil {
			return err
		}
		if ok {
			if n < i {
				copy(out.Row(n), row)
				out.Origin[n] = out.Origin[i]
			}
			n++
		}
	}
	out.Truncate(n)
	return nil
}

// fresh reports whether a row was not seen. If the set has no room for it, it goes to a file,
// with its number and its ord.
func (d *Distinct) fresh(number, ord uint64, row []string) (bool, error) {
	d.key = d.key[:0]
	for _, slot := range d.Slots {
		d.key = append(append(d.key, row[slot]...), 0, 1)
	}
	digest := expr.DigestOf(d.key)
	if _, ok := d.seen[digest]; ok {
		return false, nil
	}
	if d.parts == nil {
		err := d.Grow(expr.DigestBytes)
		if err == nil {
			if d.seen == nil {
				d.seen = make(map[expr.Digest]struct{})
			}
			d.seen[digest] = struct{}{}
			return true, nil
		}
		if !d.Exec.Spills() || len(d.seen) == 0 || d.level >= maxLevel {
			return false, err
		}
		d.parts = d.Exec.Scratch.NewPartitions(&d.Holder, d.Exec.Width, d.level)
	}
	return false, d.parts.Add(d.key, spill.Record{A: number, B: ord, Row: row})
}

// descend puts the files of the finished input on the stack.
func (d *Distinct) descend() error {
	d.seen = nil
	d.Free()
	if d.parts == nil {
		return nil
	}
	if err := d.parts.Finish(); err != nil {
		return err
	}
	d.todo = d.parts.PushTo(d.todo)
	d.parts = nil
	return nil
}

// files gives the passing rows of the files, or with keepOrder makes runs of all of them.
func (d *Distinct) files(out *solution.Batch) error {
	for n := 0; !out.Full(); n++ {
		if n%solution.BatchRows == 0 {
			if err := d.Exec.Check(); err != nil {
				return err
			}
		}
		// 1. Take the next file from the stack. Its rows go to files of the next level if they do
		// not fit.
		if d.reader == nil {
			if len(d.todo) == 0 {
				return nil
			}
			top := d.todo[len(d.todo)-1]
			d.todo = d.todo[:len(d.todo)-1]
			d.file, d.level, d.reader = top.File, top.Depth+1, top.File.NewReader()
		}
		// 2. Pass its rows as those of the input.
		ok, err := d.reader.Next()
		if err != nil {
			return err
		}
		if !ok {
			if err := d.endFile(); err != nil {
				return err
			}
			continue
		}
		if ok, err = d.fresh(d.reader.A, d.reader.B, d.reader.Row); err != nil {
			return err
		}
		switch {
		case !ok:
		case d.KeepOrder:
			if err := d.number(d.reader.Record); err != nil {
				return err
			}
		default:
			out.AddRead(d.reader.Row, int32(uint32(d.reader.B)))
		}
	}
	return nil
}

// number writes a passing row to the run of the current file.
func (d *Distinct) number(r spill.Record) (err error) {
	if d.runs == nil {
		d.runs = &spill.Runs{Scratch: &d.Exec.Scratch, Holder: &d.Holder, Fields: d.Exec.Width, Check: d.Exec.Check, Compare: spill.ByNumber}
	}
	if d.run == nil {
		if d.run, err = d.runs.Create(); err != nil {
			return err
		}
	}
	return d.run.Add(r)
}

func (d *Distinct) endFile() error {
	d.file.Close()
	d.file, d.reader = nil, nil
	if d.run != nil {
		if err := d.runs.Add(d.run); err != nil {
			return err
		}
		d.run = nil
	}
	return d.descend()
}

func (d *Distinct) drop() {
	d.parts.Close()
	for _, p := range d.todo {
		p.File.Close()
	}
	d.file.Close()
	d.run.Close()
	d.runs.Close()
	d.seen, d.seq, d.parts, d.todo, d.level, d.file, d.reader = nil, 0, nil, nil, 0, nil, nil
	d.ended, d.run, d.runs, d.merged = false, nil, nil, false
	d.Free()
}

func (d *Distinct) Reset()                 { d.drop(); d.Input.Reset() }
func (d *Distinct) Close()                 { d.drop(); d.Input.Close() }
func (d *Distinct) Sharer() *memory.Holder { return &d.Holder }

// Reduced passes each row, but drops most equal ones if they follow soon. Its memory is
// bounded, and cleared when it is full.
type Reduced struct {
	Exec  *exec.Execution
	Input exec.Operator
	Slots []int
	memory.Holder
	seen map[expr.Digest]struct{}
	key  []byte
}

// maxReduced bounds the bytes kept by Reduced.
const maxReduced = 1 << 20

func (r *Reduced) Next(out *solution.Batch) error {
	for {
		if err := r.Exec.Check(); err != nil {
			return err
		}
		if err := r.Input.Next(out); err != nil || out.Len == 0 {
			return err
		}
		n := 0
		for i := range out.Len {
			if !r.fresh(out.Row(i)) {
				continue
			}
			if n < i {
				copy(out.Row(n), out.Row(i))
				out.Origin[n] = out.Origin[i]
			}
			n++
		}
		if out.Truncate(n); n > 0 {
			return nil
		}
	}
}

func (r *Reduced) fresh(row []string) bool {
	r.key = r.key[:0]
	for _, slot := range r.Slots {
		r.key = append(append(r.key, row[slot]...), 0, 1)
	}
	digest := expr.DigestOf(r.key)
	if _, ok := r.seen[digest]; ok {
		return false
	}
	if r.Held+expr.DigestBytes > maxReduced || !r.Fits(expr.DigestBytes) {
		clear(r.seen)
		r.Free()
	}
	if !r.Fits(expr.DigestBytes) {
		return true
	}
	r.Take(expr.DigestBytes)
	if r.seen == nil {
		r.seen = make(map[expr.Digest]struct{})
	}
	r.seen[digest] = struct{}{}
	return true
}

func (r *Reduced) Reset() { r.drop(); r.Input.Reset() }
func (r *Reduced) Close() { r.drop(); r.Input.Close() }
func (r *Reduced) drop()  { r.seen = nil; r.Free() }
