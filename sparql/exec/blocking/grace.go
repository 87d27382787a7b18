// The part of a hash join whose right side is in temporary files.

package blocking

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
)

// grace is the part of a HashJoin with the right side in temporary files.
//
// Both sides are divided by the hash of the keys; the left rows of a partition meet the right
// rows of the same one. If a row leaves a key unbound, it must stand apart: loose rows of the
// right meet all of the left, loose rows of the left all of the right. If the right rows of a
// pair do not fit into the table, they are taken a table at a time, each with a pass over the
// left rows of the pair. Each left row has a bit, set if it had a match.
type grace struct {
	join  *HashJoin
	right *spill.Partitions
	loose *spill.RecordFile // of the right

	read      bool // the left is in files
	left      *spill.Partitions
	leftLoose *spill.RecordFile

	pair    int                 // the next one; fan is that of leftLoose
	sources []*spill.RecordFile // the unread files of the right side of the pair
	from    *spill.RecordReader // of the first of sources
	again   bool                // the record of from is still to be put into the table
	probe   *spill.RecordReader // of the left file of the pair; nil between passes
	file    *spill.RecordFile   // the left file of the pair
	last    bool                // the pass of probe is the last
	matched []uint64            // a bit for each left row of the pair
	base    int                 // the number of the first row of join.input in the file
	numbers []spill.Record      // of the rows of join.input: a, b

	out    *spill.Runs // with keepOrder
	merged bool
	some   *solution.Batch
}

func newGrace(j *HashJoin) *grace {
	g := &grace{join: j}
	g.right = j.Exec.Scratch.NewPartitions(&j.Table.Holder, j.Exec.Width, 0)
	return g
}

func (g *grace) addRight(row []string) error {
	return g.add(g.right, &g.loose, spill.Record{Row: row})
}

// add adds a row to its partition, or to the loose ones. Without keys all rows are
// of one partition.
func (g *grace) add(to *spill.Partitions, loose **spill.RecordFile, r spill.Record) (err error) {
	t := g.join.Table
	if t.KeyOf(r.Row) || len(t.Keys) == 0 {
		return to.Add(t.Key, r)
	}
	if *loose == nil {
		if *loose, err = g.join.Exec.Scratch.Create(&t.Holder, g.join.Exec.Width); err != nil {
			return err
		}
	}
	return (*loose).Add(r)
}

func (g *grace) built() error {
	if g.loose != nil {
		if err := g.loose.Finish(); err != nil {
			return err
		}
	}
	return g.right.Finish()
}

// readLeft takes all rows of the left side.
func (g *grace) readLeft() error {
	j := g.join
	g.left = j.Exec.Scratch.NewPartitions(&j.Table.Holder, j.Exec.Width, 0)
	// 1. Rows are numbered, because the join may have to give them in this order.
	number := uint64(0)
	for {
		j.Batch.Clear()
		if err := j.Exec.Check(); err != nil {
			return err
		}
		if err := j.Left.Next(j.Batch); err != nil {
			return err
		}
		if j.Batch.Len == 0 {
			break
		}
		for i := range j.Batch.Len {
			r := spill.Record{A: number, B: uint64(uint32(j.Batch.Origin[i])), Row: j.Batch.Row(i)}
			number++
			if err := g.add(g.left, &g.leftLoose, r); err != nil {
				return err
			}
		}
	}
	// 2. All files must be complete before one is read.
	if g.leftLoose != nil {
		if err := g.leftLoose.Finish(); err != nil {
			return err
		}
	}
	return g.left.Finish()
}

func (g *grace) next(out *solution.Batch) error {
	if !g.read {
		if err := g.readLeft(); err != nil {
			return err
		}
		g.read = true
	}
	if !g.join.KeepOrder {
		return g.produce(out)
	}
	if !g.merged {
		if err := g.sort(); err != nil {
			return err
		}
		g.merged = true
	}
	for !out.Full() {
		r, err := g.out.Next()
		if err != nil || r == nil {
			return err
		}
		out.AddRead(r.Row, int32(uint32(r.B)))
	}
	return nil
}

// sort writes all rows to files, a sorted one for each pass.
func (g *grace) sort() error {
	j := g.join
	g.out = &spill.Runs{
		Scratch: &j.Exec.Scratch, Holder: &j.Table.Holder, Fields: j.Exec.Width, Check: j.Exec.Check,
		Compare: spill.ByNumber,
	}
	g.some = j.Exec.NewBatch()
	defer g.some.Free()
	var run *spill.RecordFile
	var err error
	last := uint64(0)
	// 1. Make the rows of the join, a batch at a time.
	for {
		g.some.Clear()
		if err := g.produce(g.some); err != nil {
			return err
		}
		if g.some.Len == 0 {
			break
		}
		for i := range g.some.Len {
			from := g.numbers[g.some.Origin[i]]
			// 2. A pass reads left rows in order, so its rows are a sorted run. A lower
			// number begins the next pass, and must begin a new run.
			if run != nil && from.A < last {
				if err := g.out.Add(run); err != nil {
					return err
				}
				run = nil
			}
			if run == nil {
				if run, err = g.out.Create(); err != nil {
					return err
				}
			}
			last = from.A
			if err := run.Add(spill.Record{A: from.A, B: from.B, Row: g.some.Row(i)}); err != nil {
				return err
			}
		}
	}
	if run != nil {
		if err := g.out.Add(run); err != nil {
			return err
		}
	}
	// 3. The merge of all runs has the order of the left.
	return g.out.Start()
}

// produce gives rows of the join; with keepOrder their ord are places in numbers.
func (g *grace) produce(out *solution.Batch) error {
	j := g.join
	for {
		// 1. Probe the rows read.
		for j.at < j.Batch.Len && g.probe != nil {
			if err := j.probe(out); err != nil {
				return err
			}
			if out.Full() {
				g.translate(out)
				return nil
			}
		}
		if out.Len > 0 {
			g.translate(out)
			return nil
		}
		if err := j.Exec.Check(); err != nil {
			return err
		}
		// 2. Begin the next pass if the one before has ended.
		if g.probe == nil {
			ok, err := g.pass()
			if err != nil || !ok {
				return err
			}
		}
		// 3. Read more left rows.
		if err := g.fill(); err != nil {
			return err
		}
	}
}

// translate replaces places in the input by the origins of the rows.
func (g *grace) translate(out *solution.Batch) {
	if g.join.KeepOrder {
		return
	}
	for i, at := range out.Origin {
		out.Origin[i] = int32(uint32(g.numbers[at].B))
	}
}

// fill reads the next left rows of the pass, or ends it.
func (g *grace) fill() error {
	j := g.join
	g.base += j.Batch.Len
	j.Batch.Clear()
	j.at = 0
	g.numbers = g.numbers[:0]
	for !j.Batch.Full() {
		ok, err := g.probe.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		j.Batch.AddRead(g.probe.Row, int32(j.Batch.Len))
		g.numbers = append(g.numbers, spill.Record{A: g.probe.A, B: g.probe.B})
	}
	if j.Batch.Len == 0 {
		g.probe = nil
	}
	return nil
}

// pass begins a pass over left rows: the next one of the pair, or of the next pair.
func (g *grace) pass() (bool, error) {
	j := g.join
	// 1. Find a pair with rows. Loose right rows belong to each pair, because they are
	// compatible with many keys.
	for len(g.sources) == 0 {
		g.endPair()
		if g.pair > spill.FanOut {
			return false, nil
		}
		g.file = g.leftLoose
		if g.pair < spill.FanOut {
			g.file = g.left.Files[g.pair]
		}
		if g.file != nil {
			if g.pair == spill.FanOut {
				for _, f := range g.right.Files {
					g.source(f)
				}
			} else {
				g.source(g.right.Files[g.pair])
			}
			g.source(g.loose)
			if len(g.sources) == 0 && j.Kind != InnerJoin {
				break // all of them are without a match
			}
		}
		g.pair++
	}
	if len(g.sources) == 0 {
		g.pair++
	}
	// 2. A left row's bit must outlast a pass, because a later pass could take the row for one
	// without a match.
	j.Table.Free()
	if j.Kind != InnerJoin {
		words := int((g.file.Records + 63) / 64)
		if err := j.Table.Grow(8 * words); err != nil {
			return false, err
		}
		if g.matched == nil {
			g.matched = make([]uint64, words)
		}
	}
	// 3. Fill the table with right rows, and read the left rows from the first one on.
	if err := g.load(); err != nil {
		return false, err
	}
	g.last = len(g.sources) == 0
	g.probe = g.file.NewReader()
	g.base = 0
	j.Batch.Clear()
	j.at, j.begun = 0, false
	return true, nil
}

func (g *grace) source(f *spill.RecordFile) {
	if f != nil {
		g.sources = append(g.sources, f)
	}
}

// load fills the table with right rows of the pair.
func (g *grace) load() error {
	t := g.join.Table
	for len(g.sources) > 0 {
		// 1. Open the next file of the right side.
		if g.from == nil {
			g.from, g.again = g.sources[0].NewReader(), false
		}
		for n := 0; ; n++ {
			if n%solution.BatchRows == 0 {
				if err := g.join.Exec.Check(); err != nil {
					return err
				}
			}
			if !g.again {
				ok, err := g.from.Next()
				if err != nil {
					return err
				}
				if !ok {
					break
				}
			}
			// 2. If the table is full, the row is put again in the next pass. If even an empty
			// table has no room, that is an error.
			err := t.Put(g.from.Row)
			g.again = errors.Is(err, memory.ErrMemory)
			if g.again && t.Len > 0 {
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

// probed must be called when the row of the input at a place met all of the table.
func (g *grace) probed(out *solution.Batch, at int, some bool) {
	if some && g.matched != nil {
		n := g.base + at
		g.matched[n/64] |= 1 << (n % 64)
	}
	if !some && g.last && g.join.Kind != InnerJoin {
		out.Add(g.join.Batch.Row(at), g.join.Batch.Origin[at])
	}
}

func (g *grace) endPair() {
	g.join.Table.Free()
	g.matched = nil
}

// rewind drops the left side; the right one stays.
func (g *grace) rewind() {
	g.left.Close()
	g.leftLoose.Close()
	g.out.Close()
	g.left, g.leftLoose, g.out, g.read, g.merged = nil, nil, nil, false, false
	g.pair, g.sources, g.from, g.again, g.probe, g.file = 0, nil, nil, false, nil, nil
	g.endPair()
}

func (g *grace) close() {
	g.rewind()
	g.right.Close()
	g.loose.Close()
}
