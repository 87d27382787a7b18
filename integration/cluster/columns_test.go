// Queries over the columns of a cluster: while clients write, and while machines are lost.

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/triple"
)

// columnPeople are people who know the next one and have an age.
type columnPeople struct {
	w    *world
	ages map[int]int
	next map[int]int
}

func person(i int) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://people/%02d", i))}
}

func knows(i, j int) triple.Triple {
	t := person(i)
	t.Predicate, t.Object = triple.NewIRI("http://knows"), person(j).Subject
	return t
}

func aged(i, age int) triple.Triple {
	t := person(i)
	t.Predicate, t.Object = triple.NewIRI("http://age"), triple.NewTyped(fmt.Sprint(age), triple.XSDInteger)
	return t
}

// ask checks a join at a machine, and reports whether it read columns only.
func (p *columnPeople) ask(m *machine) (columns bool) {
	p.w.t.Helper()
	var want, got []string
	for i, j := range p.next {
		if age, ok := p.ages[j]; ok {
			want = append(want, fmt.Sprint(person(i).Subject, " ", age))
		}
	}
	ctx, cancel := context.WithTimeout(p.w.t.Context(), 30*time.Second)
	defer cancel()
	sn, err := m.node.Reader()
	require.NoError(p.w.t, err)
	defer sn.Close()
	result, err := sparql.Query(ctx, sn.Source(), "SELECT ?a ?n { ?a <http://knows> ?b . ?b <http://age> ?n }", sparql.Options{})
	require.NoError(p.w.t, err)
	for row, err := range result.Rows() {
		require.NoError(p.w.t, err)
		got = append(got, fmt.Sprint(row[0], " ", row[1].Value()))
	}
	slices.Sort(want)
	slices.Sort(got)
	text := result.Plan().Text(false)
	if !slices.Equal(got, want) {
		p.w.t.Fatalf("%s: %d solutions, want %d\n%v\n%v\n%s", m.name, len(got), len(want), got, want, text)
	}
	return strings.Contains(text, "column join") && !strings.Contains(text, "index")
}

// await asks until a machine answers from columns.
func (p *columnPeople) await(m *machine) {
	p.w.t.Helper()
	for range 1000 {
		if p.ask(m) {
			return
		}
		time.Sleep(100 * time.Millisecond) // of virtual time
	}
	p.w.t.Fatalf("%s: no columns", m.name)
}

// TestColumns: joins of a cluster read columns, and never miss a change that was acknowledged before, at
// whichever machine. They go on while machines are lost, and read columns again afterwards.
func TestColumns(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{2, 4}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				w.adjust = func(_ *store.Options, _ *replica.Options, cfg *cluster.Config) { cfg.ColumnMemory = 1 << 20 }
				w.form()
				p := &columnPeople{w, map[int]int{}, map[int]int{}}
				for i := range 30 {
					p.next[i], p.ages[i] = (i+1)%30, i
					w.mustAdd(w.any(), knows(i, p.next[i]), aged(i, i))
				}
				for _, m := range w.up() {
					p.await(m)
				}
				// 1. Each change shows at once at any machine, and the columns have it.
				if n := p.change(40); n < 40 {
					t.Errorf("%d of 40 queries behind a change read columns", n)
				}
				// 2. The columns are built again.
				for _, m := range w.up() {
					p.await(m)
				}
				// 3. A machine that starts again has them from its file.
				m := w.up()[w.random.IntN(machines)]
				if _, err := m.disk.Stat(m.disk.PathJoin(dataDir, "columns")); err != nil {
					t.Errorf("the columns were not kept: %v", err)
				}
				m.stop()
				m.run()
				w.settle()
				p.change(10)
				p.await(m)
				p.change(10)
				// 4. A machine is lost. Its rows are on others.
				if machines < 3 {
					return
				}
				w.up()[w.random.IntN(machines)].kill()
				p.change(10)
				w.settle()
				p.change(10)
				for _, m := range w.up() {
					p.await(m)
				}
			})
		})
	}
}

// change makes some changes through any machine, and asks any machine after each. It returns how many answers
// were from columns.
func (p *columnPeople) change(n int) (columns int) {
	for range n {
		i := p.w.random.IntN(40)
		age, had := p.ages[i]
		if had {
			p.w.mustDelete(p.w.any(), aged(i, age))
			delete(p.ages, i)
		}
		if !had || p.w.random.IntN(2) == 0 {
			p.ages[i] = 100 + p.w.random.IntN(100)
			p.w.mustAdd(p.w.any(), aged(i, p.ages[i]))
		}
		if p.ask(p.w.any()) {
			columns++
		}
		time.Sleep(time.Duration(p.w.random.IntN(300)) * time.Millisecond) // of virtual time, so that sets are built between
	}
	return columns
}

// TestColumnsAfterCancel: a client that gives its query up does not keep others from columns, because no
// member has failed.
func TestColumnsAfterCancel(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		w.adjust = func(_ *store.Options, _ *replica.Options, cfg *cluster.Config) { cfg.ColumnMemory = 1 << 20 }
		w.form()
		p := &columnPeople{w, map[int]int{}, map[int]int{}}
		for i := range 5 {
			p.next[i], p.ages[i] = (i+1)%5, i
			w.mustAdd(w.any(), knows(i, p.next[i]), aged(i, i))
		}
		m := w.any()
		p.await(m)
		sn, err := m.node.Reader()
		require.NoError(t, err)
		defer sn.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if columns.FromSource(ctx, sn.Source()) != nil {
			t.Error("columns for a query that was given up")
		}
		if !p.ask(m) {
			t.Error("another query reads rows")
		}
	})
}
