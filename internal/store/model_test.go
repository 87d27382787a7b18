// Random operations beside a model.

package store

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// model is the expected contents of a store: the triples, with their annotations.
type model map[triple.Triple]map[string]string

func (m model) clone() model {
	c := model{}
	for t, notes := range m {
		c[t] = map[string]string{}
		maps.Copy(c[t], notes)
	}
	return c
}

// keys returns the keys of one order, sorted.
func (m model) keys(o triple.Order) [][]byte {
	var keys [][]byte
	for t := range m {
		if key, _ := triple.AppendKey(nil, o, t); len(key) > 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	return keys
}

func (m model) notes() int {
	n := 0
	for _, notes := range m {
		n += len(notes)
	}
	return n
}

// machine is a store beside its model for random operations.
type machine struct {
	fs    *memdisk.FS
	s     *Store
	m     model
	sn    *Snapshot
	then  model // of the snapshot
	fed   *replay
	steps int
}

func draw(t *rapid.T) triple.Triple {
	return small(rand.New(rand.NewPCG(rapid.Uint64Range(0, 400).Draw(t, "triple"), 0)))
}

func drawPattern(t *rapid.T) triple.Pattern {
	p := triple.Exact(draw(t))
	if rapid.Bool().Draw(t, "any subject") {
		p.Subject = triple.Term{}
	}
	if rapid.Bool().Draw(t, "any predicate") {
		p.Predicate = triple.Term{}
	}
	if rapid.Bool().Draw(t, "any object") {
		p.Object = triple.Term{}
	}
	if rapid.Bool().Draw(t, "any graph") {
		p.Graph, p.DefaultGraph = triple.Term{}, false
	}
	return p
}

func (c *machine) open(t *rapid.T) {
	var err error
	c.s, err = Open("data", Options{FS: c.fs, MaxSegmentBytes: 2 << 10, MemTableBytes: minMemTableBytes})
	require.NoError(t, err)
}

func (c *machine) close(t *rapid.T) {
	if c.sn != nil {
		c.sn.Close()
		c.sn = nil
	}
	require.NoError(t, c.s.Close())
}

func (c *machine) add(t *rapid.T) {
	triples := rapid.SliceOfN(rapid.Custom(draw), 1, 12).Draw(t, "triples")
	want := Result{}
	for _, tr := range triples {
		if _, ok := c.m[tr]; ok {
			want.Existing++
		} else {
			want.Added++
			c.m[tr] = map[string]string{}
		}
	}
	if got, err := Add(ctx, c.s, triples); err != nil || got != want {
		t.Fatalf("add: %+v, %v, want %+v", got, err, want)
	}
}

func (c *machine) delete(t *rapid.T) {
	triples := rapid.SliceOfN(rapid.Custom(draw), 1, 6).Draw(t, "triples")
	want := Result{}
	for _, tr := range triples {
		if _, ok := c.m[tr]; ok {
			want.Deleted++
			delete(c.m, tr)
		} else {
			want.Missing++
		}
	}
	if got, err := Delete(ctx, c.s, triples); err != nil || got != want {
		t.Fatalf("delete: %+v, %v, want %+v", got, err, want)
	}
}

func (c *machine) annotate(t *rapid.T) {
	tr, id := draw(t), rapid.SampledFrom([]string{"a", "b", "\x00\x01"}).Draw(t, "id")
	data := []byte(rapid.SampledFrom([]string{"", "x", "\x00y"}).Draw(t, "data"))
	if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
		data = nil
	}
	err := Annotate(ctx, c.s, tr, id, data)
	notes, ok := c.m[tr]
	if ok != (err == nil) {
		t.Fatalf("annotate %s: %v; it is there: %v", tr, err, ok)
	}
	if ok && data == nil {
		delete(notes, id)
	} else if ok {
		notes[id] = string(data)
	}
}

// pick deletes all triples that match a pattern.
func (c *machine) deleteMatch(t *rapid.T) {
	p := drawPattern(t)
	if p == (triple.Pattern{}) {
		return
	}
	want := int64(0)
	for tr := range c.m {
		if p.Match(tr) {
			want++
			delete(c.m, tr)
		}
	}
	if got, err := DeleteMatch(ctx, c.s, p); err != nil || got.Deleted != want || got.Missing != 0 {
		t.Fatalf("delete %v: %+v, %v, want %d", p, got, err, want)
	}
}

func (c *machine) load(t *rapid.T) {
	c.steps++
	triples := rapid.SliceOfN(rapid.Custom(draw), 1, 12).Draw(t, "triples")
	added := int64(0)
	for _, tr := range triples {
		if _, ok := c.m[tr]; !ok {
			c.m[tr] = map[string]string{}
			added++
		}
	}
	id := fmt.Sprintf("load%d", c.steps)
	loadNew(t, c.s, id, triples, added)
	c.fed.loads[id] = triples
}

func (c *machine) apply(t *rapid.T) {
	changes := randomChanges(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "changes"), 0)))
	want := c.m.apply(changes)
	if got, err := Apply(ctx, c.s, changes); err != nil || got != want {
		t.Fatalf("apply: %+v, %v, want %+v", got, err, want)
	}
}

// compare compares a snapshot with a model, in every way of reading.
func compare(t *rapid.T, sn *Snapshot, m model) {
	for _, o := range triple.Orders {
		walk(t, sn, o, m.keys(o))
	}
	p := drawPattern(t)
	var want [][]byte
	for _, key := range m.keys(p.Best()) {
		_, tr, err := triple.DecodeKey(key, triple.AppendValue(nil, triple.Stamp{}, findKey(m, p.Best(), key)))
		require.NoError(t, err)
		if p.Match(tr) {
			want = append(want, key)
		}
	}
	o := ReadOptions{Reverse: rapid.Bool().Draw(t, "reverse"), Limit: rapid.Int64Range(0, 5).Draw(t, "limit")}
	if n, err := sn.Count(ctx, p); err != nil || n != int64(len(want)) {
		t.Fatalf("count %v: %d, %v, want %d", p, n, err, len(want))
	}
	if n, exact, err := sn.Estimate(t.Context(), p); err != nil || !exact || n != int64(len(want)) {
		t.Fatalf("estimate %v: %d, exact %v, %v, want %d", p, n, exact, err, len(want))
	}
	if o.Reverse {
		slices.Reverse(want)
	}
	var got [][]byte
	for { // page by page
		page := 0
		for row, err := range sn.Match(ctx, p, o) {
			require.NoError(t, err)
			got = append(got, bytes.Clone(row.Key))
			page++
		}
		if o.Limit == 0 || page == 0 {
			break
		}
		o.After = got[len(got)-1]
	}
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Fatalf("match %v %+v: %q, want %q", p, o, got, want)
	}
	tr := draw(t)
	notes, there := m[tr]
	if ok, err := sn.Has(ctx, tr); err != nil || ok != there {
		t.Fatalf("has %s: %v, %v, want %v", tr, ok, err, there)
	}
	read := map[string]string{}
	for note, err := range sn.Annotations(ctx, tr) {
		require.NoError(t, err)
		read[note.ApplicationID] = string(note.Data)
	}
	if len(read) != len(notes) {
		t.Fatalf("annotations of %s: %q, want %q", tr, read, notes)
	}
	for id, data := range notes {
		if got, err := sn.Annotation(ctx, tr, id); err != nil || string(got.Bytes()) != data || read[id] != data {
			t.Fatalf("annotation %q of %s: %q, %v, want %q", id, tr, got.Bytes(), err, data)
		}
	}
}

func findKey(m model, o triple.Order, key []byte) triple.Triple {
	for tr := range m {
		if k, _ := triple.AppendKey(nil, o, tr); bytes.Equal(k, key) {
			return tr
		}
	}
	panic("no such key")
}

// walk moves an iterator at random beside an index into the sorted keys.
func walk(t *rapid.T, sn *Snapshot, o triple.Order, keys [][]byte) {
	rows, err := sn.Rows(ctx, triple.OrderRange(o))
	require.NoError(t, err)
	defer rows.Close()
	at, valid := -1, false
	for i := range rapid.IntRange(1, 12).Draw(t, "moves") {
		seek := []byte{byte(o)}
		if len(keys) > 0 {
			seek = bytes.Clone(keys[rapid.IntRange(0, len(keys)-1).Draw(t, "key")])
			switch rapid.IntRange(0, 2).Draw(t, "near") {
			case 0:
				seek = append(seek, 0)
			case 1:
				seek = seek[:len(seek)-1]
			}
		}
		move := rapid.SampledFrom([]string{"first", "last", "ge", "lt", "next", "prev", "next", "prev"}).Draw(t, "move")
		if i > 0 && !valid && (move == "next" || move == "prev") {
			continue // beyond the ends only absolute moves count
		}
		switch move {
		case "first":
			at, valid = 0, rows.First()
		case "last":
			at, valid = len(keys)-1, rows.Last()
		case "ge":
			valid = rows.SeekGE(seek)
			at, _ = slices.BinarySearchFunc(keys, seek, bytes.Compare)
		case "lt":
			valid = rows.SeekLT(seek)
			at, _ = slices.BinarySearchFunc(keys, seek, bytes.Compare)
			at--
		case "next":
			at, valid = at+1, rows.Next()
		case "prev":
			if i == 0 {
				at = len(keys)
			}
			at, valid = at-1, rows.Prev()
		}
		if want := at >= 0 && at < len(keys); valid != want || valid && !bytes.Equal(rows.Key(), keys[at]) {
			t.Fatalf("%s: valid %v, want %v (row %d of %d)", move, valid, want, at, len(keys))
		}
		require.NoError(t, rows.Err())
	}
}

// A store equals its model after any operations in any order.
func TestModel(t *testing.T) {
	seed.Slow(t)
	verify(t, func(t *rapid.T) {
		c := &machine{fs: memdisk.New(), m: model{}, fed: newReplay()}
		c.open(t)
		defer c.close(t)
		t.Repeat(map[string]func(*rapid.T){
			"add":         c.add,
			"add more":    c.add,
			"delete":      c.delete,
			"deleteMatch": c.deleteMatch,
			"annotate":    c.annotate,
			"annotate 2":  c.annotate,
			"load":        c.load,
			"apply":       c.apply,
			"flush": func(t *rapid.T) {
				require.NoError(t, c.s.db.Flush())
			},
			"reopen": func(t *rapid.T) { c.close(t); c.open(t) },
			"snapshot": func(t *rapid.T) {
				if c.sn != nil {
					c.sn.Close()
				}
				var err error
				if c.sn, err = c.s.Snapshot(); err != nil {
					t.Fatal(err)
				}
				c.then = c.m.clone()
			},
			"feed": func(t *rapid.T) {
				c.fed.read(t, c.s)
				require.NoError(t, c.fed.same(c.m))
			},
			"old snapshot": func(t *rapid.T) {
				if c.sn != nil {
					compare(t, c.sn, c.then)
				}
			},
			"now": func(t *rapid.T) {
				sn, err := c.s.Snapshot()
				require.NoError(t, err)
				defer sn.Close()
				compare(t, sn, c.m)
			},
			"check": func(t *rapid.T) {
				report, err := c.s.Check(ctx)
				if err != nil || len(report.Problems) > 0 {
					t.Fatalf("check: %v %+v", err, report.Problems)
				}
				if report.Triples != int64(len(c.m)) || report.Annotations != int64(c.m.notes()) {
					t.Fatalf("check: %d triples, %d annotations, want %d, %d", report.Triples, report.Annotations, len(c.m), c.m.notes())
				}
				if st := c.s.Status(); st.Triples != report.Triples || st.Annotations != report.Annotations {
					t.Fatalf("status: %d triples, %d annotations, want %d, %d", st.Triples, st.Annotations, report.Triples, report.Annotations)
				}
			},
		})
	})
}

// Requests of one group are done in order, each on the result of the ones before.
func TestGroup(t *testing.T) {
	verify(t, func(t *rapid.T) {
		c := &machine{fs: memdisk.New(), m: model{}}
		c.open(t)
		defer c.close(t)
		c.add(t)
		var group []*request
		var want []error
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			tr := small(rand.New(rand.NewPCG(rapid.Uint64Range(0, 3).Draw(t, "triple"), 0)))
			kind := rapid.SampledFrom([]Kind{KindAdd, KindDelete, KindAnnotate}).Draw(t, "kind")
			r := newRequest(kind, 1)
			r.add(new(encoder), tr)
			var err error
			switch kind {
			case KindAdd:
				if c.m[tr] == nil {
					c.m[tr] = map[string]string{}
				}
			case KindDelete:
				delete(c.m, tr)
			case KindAnnotate:
				r.applicationID = "app"
				if rapid.Bool().Draw(t, "set") {
					r.data = []byte{}
				}
				switch notes := c.m[tr]; {
				case notes == nil:
					err = ErrNotFound
				case r.data == nil:
					delete(notes, "app")
				default:
					notes["app"] = ""
				}
			}
			group, want = append(group, r), append(want, err)
		}
		c.s.committer.mu.Lock()
		c.s.committer.commitGroup(group)
		c.s.committer.mu.Unlock()
		for i, r := range group {
			if r.err != want[i] {
				t.Fatalf("request %d: %v, want %v", i, r.err, want[i])
			}
		}
		report, err := c.s.Check(ctx)
		if err != nil || len(report.Problems) > 0 {
			t.Fatalf("check: %v %+v", err, report.Problems)
		}
		st := c.s.Status()
		if st.Triples != int64(len(c.m)) || st.Annotations != int64(c.m.notes()) || report.Triples != st.Triples || report.Annotations != st.Annotations {
			t.Fatalf("%d triples, %d annotations, checked %d, %d, want %d, %d",
				st.Triples, st.Annotations, report.Triples, report.Annotations, len(c.m), c.m.notes())
		}
	})
}

// check is [rapid.Check]. Under the race detector it runs only now and then.
func verify(t *testing.T, property func(*rapid.T)) {
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		if n++; race.Enabled && n%10 != 1 {
			return
		}
		property(t)
	})
}
