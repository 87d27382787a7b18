// The conformance test of backups: chains under writers, restored to points of a known history.

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// content is a set of triples, each in the form of N-Quads, with their annotations by application.
type content map[string]map[string]string

func (c content) clone() content {
	copied := make(content, len(c))
	for t, a := range c {
		copied[t] = maps.Clone(a)
	}
	return copied
}

// point is a moment between two changes of a writer.
type point struct {
	position feed.Position
	time     time.Time // zero if a change may have the same millisecond
	content  content
}

// BackupTest is a run of [TestBackup].
type BackupTest struct {
	Writers, Changes int // changes of each writer
	Seed             uint64
	Loads            bool
}

// TestBackup writes to a store, takes full and incremental backups meanwhile, and restores them to
// points of each writer's history. Each writer has its own subjects, so its history is known exactly.
func TestBackup(t *testing.T, open func() store.Triples, o BackupTest) {
	t.Logf("seed %d", o.Seed)
	// 1. Write and take backups.
	ctx, dir := t.Context(), t.TempDir()
	var wait, done sync.WaitGroup
	writers := make([]*historian, o.Writers)
	changed := make(chan struct{}, o.Writers*o.Changes) // has an element for each change
	for i := range writers {
		w := &historian{t: t, open: open, name: fmt.Sprint("w", i), random: rand.New(rand.NewPCG(o.Seed, uint64(i))), now: content{}, loads: o.Loads, changed: changed}
		writers[i] = w
		wait.Go(func() { w.run(ctx, o.Changes) })
	}
	random := rand.New(rand.NewPCG(o.Seed, 1<<32))
	done.Go(func() { wait.Wait(); close(changed) })
	for more := true; more && !t.Failed(); {
		// The next one begins after some changes. The last one has the end of all histories.
		for range 1 + random.IntN(o.Writers*o.Changes/8) {
			if _, more = <-changed; !more {
				break
			}
		}
		if err := nextBackup(ctx, open(), dir, random); err != nil {
			t.Fatalf("backup: %v", err)
		}
	}
	done.Wait()
	// 2. Restore to points of the histories.
	files, err := backup.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	restored := 0
	for _, w := range writers {
		for range 6 {
			p := w.points[random.IntN(len(w.points))]
			until := backup.Until{Position: p.position}
			if !p.time.IsZero() && random.IntN(2) == 0 {
				until = backup.Until{Time: p.time}
			}
			plan, err := backup.Plan(files, until)
			if err != nil {
				continue // it lies before the first full backup
			}
			w.compare(ctx, plan, until, p.content)
			restored++
		}
		plan, err := backup.Plan(files, backup.Until{})
		if err != nil {
			t.Fatal(err)
		}
		w.compare(ctx, plan, backup.Until{}, w.now)
	}
	t.Logf("%d backups, %d restores to points", len(files), restored)
}

// nextBackup takes the next backup of a directory: mostly an increment.
func nextBackup(ctx context.Context, s store.Triples, dir string, random *rand.Rand) (err error) {
	files, err := backup.List(dir)
	if err != nil {
		return err
	}
	full := len(files) == 0 || random.IntN(4) == 0
	name, err := backup.NextName(files, full)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	switch {
	case !full:
		return backup.Increment(ctx, s, files[len(files)-1].End, "test", f)
	case random.IntN(2) == 0:
		return s.Backup(ctx, f)
	}
	return backup.Full(ctx, s, "test", f)
}

// historian is a writer that remembers what it has made.
type historian struct {
	t       *testing.T
	open    func() store.Triples
	name    string
	random  *rand.Rand
	loads   bool
	changed chan<- struct{}

	now    content
	points []point
}

func (h *historian) run(ctx context.Context, changes int) {
	for i := 0; i < changes && !h.t.Failed(); i++ {
		s := h.open()
		if err := h.change(ctx, s, i); err != nil {
			h.t.Errorf("%s, change %d: %v", h.name, i, err)
			return
		}
		h.changed <- struct{}{}
		if i%3 > 0 {
			continue
		}
		position, err := s.Feed().Position(ctx)
		if err != nil {
			h.t.Errorf("%s, change %d: position: %v", h.name, i, err)
			return
		}
		p := point{position: position, content: h.now.clone()}
		if i%9 == 0 {
			// The next change must have another millisecond.
			for p.time = time.Now(); !time.Now().After(p.time.Add(2 * time.Millisecond)); {
				time.Sleep(time.Millisecond)
			}
		}
		h.points = append(h.points, p)
	}
}

// triple returns one of the writer's triples. Some have long terms, named graphs or blank nodes.
func (h *historian) triple() triple.Triple {
	n := h.random.IntN(60)
	t := triple.Triple{Subject: iri("%s/s%d", h.name, n/4), Predicate: iri("p"), Object: triple.NewTyped(fmt.Sprint(n), triple.XSDInteger)}
	switch n % 6 {
	case 0:
		t.Subject = triple.NewBlank(fmt.Sprintf("%sb%d", h.name, n))
		t.Object = triple.NewTripleTerm(t.Subject, iri("p"), t.Object)
	case 1:
		t.Object = triple.NewString(h.name + strings.Repeat("long \\\"\n", 500+n))
	case 2:
		t.Graph = h.graph()
	case 4:
		t.Object = triple.NewTripleTerm(t.Subject, iri("p"), triple.NewTripleTerm(t.Subject, iri("p"), triple.NewLang("x", "ar--rtl")))
	case 3:
		t.Object = triple.NewLang("l\u00e4nge\x01", "de-AT")
	}
	return t
}

func (h *historian) graph() triple.Term { return iri("%s/graph", h.name) }

func line(t triple.Triple) string { return string(triple.AppendNQuad(nil, t)) }

// change makes a change and remembers it.
func (h *historian) change(ctx context.Context, s store.Triples, number int) (err error) {
	var batch []triple.Triple
	for range 1 + h.random.IntN(8) {
		batch = append(batch, h.triple())
	}
	// Add or delete them, annotate one, load them, or clear the writer's graph.
	switch n := h.random.IntN(20); {
	case n < 9:
		_, err = store.Add(ctx, s, batch)
		h.added(batch)
	case n < 14:
		_, err = store.Delete(ctx, s, batch)
		for _, t := range batch {
			delete(h.now, line(t))
		}
	case n < 18:
		err = h.annotate(ctx, s)
	case n == 18 && h.loads:
		var text []byte
		for _, t := range batch {
			if t.Subject.Kind() == triple.IRI { // blank nodes would become others
				text = triple.AppendNQuad(text, t)
			}
		}
		name := fmt.Sprintf("%s-%d", h.name, number)
		_, err = rdfload.Load(ctx, s.Sink(), []input.Source{input.Document(name, bytes.NewReader(text), -1, syntax.NQuads)}, rdfload.Options{})
		h.added(slices.DeleteFunc(batch, func(t triple.Triple) bool { return t.Subject.Kind() != triple.IRI }))
	default:
		_, err = store.Apply(ctx, s, store.Steps{ClearGraphs: []triple.Term{h.graph()}})
		maps.DeleteFunc(h.now, func(t string, _ map[string]string) bool {
			return strings.HasSuffix(t, h.graph().String()+" .\n")
		})
	}
	return err
}

func (h *historian) added(batch []triple.Triple) {
	for _, t := range batch {
		if h.now[line(t)] == nil {
			h.now[line(t)] = map[string]string{}
		}
	}
}

// annotate sets or removes an annotation of a triple that exists.
func (h *historian) annotate(ctx context.Context, s store.Triples) error {
	for range 100 {
		t := h.triple()
		all := h.now[line(t)]
		if all == nil {
			continue
		}
		id := fmt.Sprint("app", h.random.IntN(3))
		if h.random.IntN(4) == 0 {
			delete(all, id)
			return store.Annotate(ctx, s, t, id, nil)
		}
		data := bytes.Repeat([]byte{0, byte(h.random.IntN(256)), 0xff}, h.random.IntN(2000))
		all[id] = string(data)
		return store.Annotate(ctx, s, t, id, append([]byte{}, data...))
	}
	return nil
}

// compare restores a plan and compares the writer's triples.
func (h *historian) compare(ctx context.Context, plan []backup.File, until backup.Until, want content) {
	h.t.Helper()
	// 1. Restore into a new directory.
	dir := filepath.Join(h.t.TempDir(), "restored")
	var chain []backup.Archive
	for _, f := range plan {
		chain = append(chain, f.Archive())
	}
	switch _, err := backup.Restore(ctx, dir, chain, backup.Options{Until: until}); {
	case errors.Is(err, backup.ErrUntil) && h.loads:
		return // rows of loads are read later, so some points cannot be restored, and the report lists them
	case err != nil:
		h.t.Errorf("%s: restore until %q: %v", h.name, until, err)
		return
	}
	s, err := store.Open(dir, store.Options{MinFreeBytes: -1})
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.Close()
	// 2. Compare what it has with the history.
	got, err := Content(ctx, s)
	if err != nil {
		h.t.Fatal(err)
	}
	maps.DeleteFunc(got, func(t string, _ map[string]string) bool {
		return !strings.Contains(t, "/"+h.name+"/") && !strings.HasPrefix(t, "_:"+h.name+"b")
	})
	for t, a := range want {
		if b, ok := got[t]; !ok {
			h.t.Errorf("%s, %d archives until %q: %.100s is missing", h.name, len(plan), until, t)
		} else if !maps.Equal(a, b) {
			h.t.Errorf("%s, %d archives until %q: %.100s has other annotations: %d, not %d", h.name, len(plan), until, t, len(b), len(a))
		}
	}
	for t := range got {
		if want[t] == nil {
			h.t.Errorf("%s, %d archives until %q: %.100s is there", h.name, len(plan), until, t)
		}
	}
}

// Content returns all triples of a store, each in the form of N-Quads, with their annotations by
// application.
func Content(ctx context.Context, s interface{ Reader() (store.Reader, error) }) (map[string]map[string]string, error) {
	r, err := s.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all := map[string]map[string]string{}
	for row, err := range r.Range(ctx, triple.Bounds{Order: triple.SPO}, store.ReadOptions{Annotations: true}) {
		if err != nil {
			return nil, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		annotations := map[string]string{}
		for _, a := range row.Annotations {
			annotations[a.ApplicationID] = string(a.Data)
		}
		all[line(t)] = annotations
	}
	return all, nil
}
