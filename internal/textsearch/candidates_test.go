// Tests of candidates: they have all literals of a reader's moment that meet a condition, whatever is written meanwhile.

package textsearch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// candidates returns the literals that Candidates gives for a text, as their values.
func (f *fixture) candidates(r store.Reader, text string) (map[string]bool, error) {
	f.Helper()
	keys, err := f.index.Candidates(f.ctx(), r, Substrings{label, textindex.Condition{{text}}, 1000})
	found := map[string]bool{}
	for _, key := range keys {
		for _, l := range f.literals(r) {
			if one, _ := triple.AppendTerm(nil, l); string(one) == string(key) {
				found[l.Value()] = true
			}
		}
	}
	return found, err
}

// literals returns the objects of the predicate in the rows of a reader.
func (f *fixture) literals(r store.Reader) (list []triple.Term) {
	for row, err := range r.Match(f.ctx(), triple.Pattern{Predicate: triple.NewIRI(label)}, store.ReadOptions{}) {
		require.NoError(f, err)
		t, err := row.Triple()
		require.NoError(f, err)
		list = append(list, t.Object)
	}
	return list
}

func (f *fixture) reader() store.Reader {
	r, err := f.db.Reader()
	require.NoError(f, err)
	return r
}

func (f *fixture) closeReader(r store.Reader) {
	if err := r.Close(); err != nil {
		f.Error(err)
	}
}

// TestCandidatesOfAMoment: readers of several moments get all their literals, also those that were deleted since.
func TestCandidatesOfAMoment(t *testing.T) {
	random := seed.Rand(t)
	f := newFixture(t, Options{})
	require.NoError(t, f.index.AddTrigrams(f.ctx(), label))
	long := strings.Repeat("very ", 400)
	subject := func() triple.Triple {
		text := fmt.Sprintf("Größe %d of %d", random.IntN(40), random.IntN(3))
		if random.IntN(10) == 0 {
			text = long + text
		}
		return labelled(fmt.Sprint(random.IntN(5)), text+[]string{"", "@en"}[random.IntN(2)])
	}
	f.await()
	// 1. Random changes, and readers between them.
	var readers []store.Reader
	for range 400 {
		var list []triple.Triple
		for range 1 + random.IntN(4) {
			list = append(list, subject())
		}
		if random.IntN(5) < 2 {
			f.add(list...)
		} else {
			f.delete(list...)
		}
		if random.IntN(20) == 0 {
			readers = append(readers, f.reader())
		}
		if random.IntN(10) > 0 || len(readers) == 0 {
			continue
		}
		// 2. A random reader.
		r := readers[random.IntN(len(readers))]
		text := fmt.Sprintf("GRÖSSE %d", random.IntN(40))
		found, err := f.candidates(r, text)
		require.NoError(t, err)
		for _, l := range f.literals(r) {
			if has := strings.Contains(l.Value(), "Größe "+text[len("GRÖSSE "):]); has && !found[l.Value()] {
				t.Errorf("the reader has %q, and it is no candidate for %q", l.Value(), text)
			}
		}
	}
	if len(readers) < 2 {
		t.Errorf("%d readers", len(readers))
	}
	for _, r := range readers {
		f.closeReader(r)
	}
}

// TestNoCandidates: an index that cannot give all candidates returns an error.
func TestNoCandidates(t *testing.T) {
	f := newFixture(t, Options{})
	expect := func(text string, want error) {
		t.Helper()
		r := f.reader()
		defer f.closeReader(r)
		if _, err := f.candidates(r, text); !errors.Is(err, want) {
			t.Errorf("candidates for %q: %v, want %v", text, err, want)
		}
	}
	expect("graph", textindex.ErrNoTrigrams)
	require.NoError(t, f.index.Add(f.ctx(), label))
	f.add(labelled("a", "graph store"))
	f.await()
	expect("graph", textindex.ErrNoTrigrams)
	if f.index.HasTrigrams(label) {
		t.Error("an index without trigrams has some")
	}
	require.NoError(t, f.index.AddTrigrams(f.ctx(), label))
	f.await()
	expect("gr", textindex.ErrNoTrigrams)
	expect("graph", nil)
	for i := range 1001 {
		f.add(labelled(fmt.Sprint(i), fmt.Sprint("graph ", i)))
	}
	expect("graph", textindex.ErrTooMany)
	// A cleared graph leaves no list of what was deleted.
	r := f.reader()
	defer f.closeReader(r)
	if _, err := store.Apply(f.ctx(), f.db, store.Steps{ClearDefault: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.candidates(r, "graph 7"); err == nil {
		t.Error("candidates of a moment before a graph was cleared")
	}
}

// TestTrigramSetting: trigrams begin and end with their setting, outlive a restart, and come with a bulk load. Damage
// makes the index be built again.
func TestTrigramSetting(t *testing.T) {
	f := newFixture(t, Options{})
	require.NoError(t, f.index.AddTrigrams(f.ctx(), label))
	f.add(labelled("a", "graph store"), labelled("b", "other"))
	f.await()
	expect := func(text string, want ...string) {
		t.Helper()
		r := f.reader()
		defer f.closeReader(r)
		found, err := f.candidates(r, text)
		require.NoError(t, err)
		for _, one := range want {
			if !found[one] {
				t.Errorf("%q is no candidate for %q", one, text)
			}
			delete(found, one)
		}
		if len(found) > 0 {
			t.Errorf("%v are candidates for %q", found, text)
		}
	}
	status := func() api.TextPredicate {
		t.Helper()
		list, err := f.index.Status(f.ctx())
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	expect("APH", "graph store")
	if s := status(); !s.Trigrams || !s.Complete || s.TrigramBytes <= 0 || s.TrigramBytes >= s.Bytes {
		t.Errorf("the status is %+v", s)
	}
	// 1. A bulk load.
	source := input.Document("x.nq", strings.NewReader("<x:c> <"+label+"> \"loaded graph\" .\n"), -1, syntax.NQuads)
	if _, err := rdfload.Load(f.ctx(), f.db.Sink(), []input.Source{source}, rdfload.Options{Memory: rdfload.MinMemory}); err != nil {
		t.Fatal(err)
	}
	expect("graph", "graph store", "loaded graph")
	// 2. A restart, with and without damage.
	for _, damage := range []bool{false, true} {
		f.close()
		files, err := filepath.Glob(filepath.Join(f.o.Dir, "*.text"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		if damage {
			require.NoError(t, os.Truncate(files[0], 100))
		}
		f.open()
		f.await()
		if n := f.index.builds.Load(); (n > 0) != damage {
			t.Errorf("%d builds after a restart, damage: %t", n, damage)
		}
		expect("graph", "graph store", "loaded graph")
	}
	// 3. Without trigrams, and with them again.
	require.NoError(t, f.index.Add(f.ctx(), label))
	f.await()
	if s := status(); s.Trigrams || s.TrigramBytes != 0 {
		t.Errorf("without trigrams the status is %+v", s)
	}
	f.expect("graph", "graph store", "loaded graph")
	require.NoError(t, f.index.AddTrigrams(f.ctx(), label))
	f.await()
	expect("loaded", "loaded graph")
	require.NoError(t, f.index.Remove(f.ctx(), label))
	require.NoError(t, f.index.Add(f.ctx(), label))
	if s := status(); s.Trigrams {
		t.Error("a removed predicate keeps its trigrams")
	}
}

// TestLateCandidates: while changes cannot be read, one call waits for a bounded time, and the next ones do not wait.
func TestLateCandidates(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFixture(t, Options{})
		require.NoError(t, f.index.AddTrigrams(f.ctx(), label))
		f.await()
		unlock, err := f.index.changing.Lock(f.ctx())
		require.NoError(t, err)
		f.add(labelled("a", "graph store"))
		r := f.reader()
		defer f.closeReader(r)
		for i, wait := range []time.Duration{candidatesTimeout, 0} {
			began := time.Now()
			if _, err := f.candidates(r, "graph"); err == nil || time.Since(began) != wait {
				t.Errorf("call %d: %v after %s, want an error after %s", i, err, time.Since(began), wait)
			}
		}
		unlock()
		time.Sleep(candidatesPause)
		if found, err := f.candidates(r, "graph"); err != nil || !found["graph store"] {
			t.Errorf("after the pause: %v, %v", found, err)
		}
	})
}
