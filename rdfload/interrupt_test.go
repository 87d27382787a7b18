// Tests of loads that are interrupted and resumed.

package rdfload_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

var errFault = errors.New("injected fault")

// scenario is a load of a few documents with malformed statements. Its store already holds some of
// the triples.
type scenario struct {
	documents []*generated
	sources   []*document
	before    set
	opts      rdfload.Options
}

func newScenario(t *rapid.T) *scenario {
	m := newMaker(t)
	s := &scenario{before: make(set), opts: drawOptions(t)}
	s.opts.KeepGoing = true
	for _, tr := range m.triples(20) {
		s.before[tr] = true
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "documents") {
		d := m.document(i, true)
		s.documents = append(s.documents, d)
		s.sources = append(s.sources, &document{name: d.name, data: d.data})
	}
	return s
}

// result returns the content of a store after the load with an ID, its record, and the report of
// rejected statements.
func (s *scenario) result(id string) (set, rdfload.Record, map[string]int) {
	all, record, report := union(s.before), rdfload.Record{ID: id}, make(map[string]int)
	loaded := make(set)
	for i, d := range s.documents {
		for j, st := range d.statements {
			if st.broken != "" {
				record.Rejected++
				report[fmt.Sprintf("%s:%d:", d.name, d.lines[j])]++
				continue
			}
			record.Read++
			tr := d.inStore(st.triple, id, i, triple.Term{})
			loaded[tr] = true
			if !all[tr] {
				all[tr] = true
				record.New++
			}
		}
	}
	record.Predicates = predicatesOf(loaded)
	record.Duplicates = record.Read - record.New
	return all, record, report
}

// loadState is the tested part of a stopped load's manifest.
type loadState struct {
	ID      string
	ReadAll bool `json:"read_all"`
	Inputs  []struct {
		Name string
		Done bool
	}
	Runs []any
}

// kept returns the state of the one kept load, or nil if there is none.
func kept(t tb, sink rdfload.Sink) (dir string, state *loadState) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(sink.Dir(), "*", "manifest.json"))
	if err != nil || len(paths) > 1 {
		t.Fatalf("%d loads are kept: %v", len(paths), err)
	}
	if len(paths) == 0 {
		checkNoLoads(t, sink)
		return "", nil
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	state = new(loadState)
	if err := json.Unmarshal(text, state); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(paths[0]), state
}

// TestInterrupted stops loads at random places and resumes them. A load may stop several times: by
// an error of the sink or of an input, or when the context ends.
func TestInterrupted(t *testing.T) {
	dir := tempDir(t)
	n := 0
	checkSome(t, 25, func(t *rapid.T) {
		n++
		db := openStore(t, filepath.Join(dir, fmt.Sprint(n)))
		defer os.RemoveAll(filepath.Join(dir, fmt.Sprint(n)))
		defer closeStore(t, db)
		s := newScenario(t)
		if _, err := store.Add(ctx, db, triples(s.before)); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "interruptions") {
			if s.interrupt(t, db.Sink()) {
				return // it was over before
			}
			checkStored(t, db, s.before)
		}
		_, state := kept(t, db.Sink())
		s.forget()
		var rejects bytes.Buffer
		s.opts.Resume, s.opts.Rejects = true, &rejects
		sum, err := rdfload.Load(ctx, db.Sink(), sources(s.sources...), s.opts)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Resumed != (state != nil) || state != nil && state.ID != sum.ID {
			t.Fatalf("resumed %v as %s, kept %+v", sum.Resumed, sum.ID, state)
		}
		want, record, report := s.result(sum.ID)
		if !reflect.DeepEqual(sum.Record, record) {
			t.Fatalf("%+v, want %+v", sum.Record, record)
		}
		checkStored(t, db, want)
		checkReport(t, rejects.String(), report)
		checkNoLoads(t, db.Sink())
		if state == nil {
			return
		}
		for i, in := range state.Inputs {
			if (in.Done || state.ReadAll) && s.sources[i].opens > 0 {
				t.Errorf("%s is read again, which is all in runs", in.Name)
			}
		}
	})
}

// forget resets the documents' counts.
func (s *scenario) forget() {
	for _, d := range s.sources {
		d.opens, d.read, d.fail, d.hook = 0, 0, nil, nil
	}
}

// interrupt begins or resumes the load and stops it at a random place. It returns true if the load
// has finished before.
func (s *scenario) interrupt(t *rapid.T, sink rdfload.Sink) (over bool) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	s.forget()
	s.opts.Resume = true
	wants := context.Canceled
	event := rapid.SampledFrom([]string{"begin", "room", "create", "set", "close", "keys", "publish", "read", "read error"}).Draw(t, "event")
	at := int64(rapid.IntRange(1, rapid.SampledFrom([]int{3, 50}).Draw(t, "most")).Draw(t, "at"))
	fails := rapid.Bool().Draw(t, "fails")
	var count atomic.Int64
	hook := func(e string) error {
		if e != event || count.Add(1) != at {
			return nil
		}
		if fails {
			return errFault
		}
		cancel()
		return nil
	}
	if fails && event != "read" {
		wants = errFault
	}
	for _, d := range s.sources {
		d.hook = func(int64) {
			if event == "read" && count.Add(1) == at {
				cancel()
			}
		}
	}
	if event == "read error" {
		wants = errFault
		d := s.sources[int(at)%len(s.sources)]
		d.fail, d.failAt = errFault, int64(len(d.data))*int64(rapid.IntRange(0, 99).Draw(t, "percent"))/100
	}
	_, err := rdfload.Load(inner, hookedSink{sink, hook}, sources(s.sources...), s.opts)
	if err == nil {
		return true
	}
	if !errors.Is(err, wants) {
		t.Fatalf("stopped by %q: %v", event, err)
	}
	dir, state := kept(t, sink)
	if errors.Is(err, rdfload.ErrKept) != (state != nil) {
		t.Fatalf("%v, and kept is %+v", err, state)
	}
	if state != nil {
		litter(t, dir)
	}
	return false
}

// litter leaves files in a load's directory, as if a crash had interrupted writing them.
func litter(t *rapid.T, dir string) {
	names, err := filepath.Glob(filepath.Join(dir, "run-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, filepath.Join(dir, "run-000001-spo-0")) {
		base := filepath.Base(name)
		var number int
		if _, err := fmt.Sscanf(base, "run-%d-", &number); err != nil {
			t.Fatal(err)
		}
		for ahead := 1; ahead < 4; ahead++ {
			next := filepath.Join(dir, fmt.Sprintf("run-%06d%s", number+ahead, base[len("run-000000"):]))
			if _, err := os.Stat(next); err == nil {
				continue
			}
			if err := os.WriteFile(next, bytes.Repeat([]byte("litter"), 10_000), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"table-spo-00-0000.sst", "table-pos-03-0000.sst", "manifest.json.new"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte("litter"), 10_000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "rejects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString("# half a")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stopped returns a store with a stopped load that has some runs, and the function that loads it.
func stopped(t *testing.T, names ...string) (rdfload.Sink, []*document, rdfload.Options) {
	t.Helper()
	db := newStore(t)
	var documents []*document
	for i, name := range names {
		documents = append(documents, &document{name: name, data: []byte(text(i, 500))})
	}
	opts := rdfload.Options{Workers: 2, KeepGoing: true}
	opts.SetLimits(1, 0, 4000, 0, 0)
	hook := func(event string) error {
		if event == "publish" {
			return errFault
		}
		return nil
	}
	_, err := rdfload.Load(ctx, hookedSink{db.Sink(), hook}, sources(documents...), opts)
	if !errors.Is(err, errFault) || !errors.Is(err, rdfload.ErrKept) || !strings.Contains(err.Error(), "--resume") {
		t.Fatalf("stopped by %v", err)
	}
	if strings.Count(err.Error(), errFault.Error()) != 1 {
		t.Errorf("the reason is not said once: %v", err)
	}
	return db.Sink(), documents, opts
}

func TestResumeChanged(t *testing.T) {
	sink, documents, opts := stopped(t, "a.nt", "b.nt")
	opts.Resume = true
	refused := func(what string, list []input.Source, opts rdfload.Options) {
		t.Helper()
		if _, err := rdfload.Load(ctx, sink, list, opts); !errors.Is(err, rdfload.ErrChanged) {
			t.Errorf("%s: %v", what, err)
		}
		if _, state := kept(t, sink); state == nil {
			t.Fatalf("%s: the load is gone", what)
		}
	}
	list := sources(documents...)
	list[1].ModTime = modified.Add(1)
	refused("another time", list, opts)
	list = sources(documents...)
	list[0].Size++
	refused("another size", list, opts)
	list = sources(documents...)
	list[0].Syntax = 2
	refused("another syntax", list, opts)
	for what, change := range map[string]func(*rdfload.Options){
		"keep going": func(o *rdfload.Options) { o.KeepGoing = false },
		"graph":      func(o *rdfload.Options) { o.Graph = triple.NewIRI("x:g") },
		"base":       func(o *rdfload.Options) { o.Base = "x:b" },
		"syntax":     func(o *rdfload.Options) { o.Syntax = 1 },
		"line":       func(o *rdfload.Options) { o.MaxLine = 1000 },
	} {
		changed := opts
		change(&changed)
		refused(what, sources(documents...), changed)
	}
	opts.Workers, opts.Memory = 3, rdfload.MinMemory // these may change
	s, err := rdfload.Load(ctx, sink, sources(documents...), opts)
	if err != nil || !s.Resumed || s.New != 1000 {
		t.Fatalf("%+v, %v", s, err)
	}
	checkNoLoads(t, sink)
}

// TestAbandoned starts other loads after one was stopped.
func TestAbandoned(t *testing.T) {
	sink, documents, opts := stopped(t, "a.nt")
	_, before := kept(t, sink)
	other := &document{name: "other.nt", data: []byte(text(7, 10))}
	opts.Resume = true
	s, err := rdfload.Load(ctx, sink, sources(other), opts)
	if err != nil || s.Resumed || s.New != 10 {
		t.Fatalf("another load: %+v, %v", s, err)
	}
	if _, state := kept(t, sink); state == nil || state.ID != before.ID {
		t.Fatalf("another load has removed the one that is kept: %+v", state)
	}
	opts.Resume = false
	s, err = rdfload.Load(ctx, sink, sources(documents...), opts)
	if err != nil || s.Resumed || s.New != 500 || s.ID == before.ID {
		t.Fatalf("from the start: %+v, %v", s, err)
	}
	checkNoLoads(t, sink)
}

// TestLeftovers has directories that are unreadable or cannot be resumed.
func TestLeftovers(t *testing.T) {
	db := newStore(t)
	sink := db.Sink()
	write := func(name, text string) {
		path := filepath.Join(sink.Dir(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("nomanifest/run-000001-spo-0", "x")
	write("document/manifest.json", `{"format":1,"inputs":[{"name":"-"}]}`)
	write("damaged/manifest.json", `{"format":1,"inp`)
	write("newer/manifest.json", `{"format":99}`)
	d := &document{name: "a.nt", data: []byte(text(0, 10))}
	if _, err := rdfload.Load(ctx, sink, sources(d), rdfload.Options{Resume: true}); err == nil || !strings.Contains(err.Error(), "manifest") && !strings.Contains(err.Error(), "format") {
		t.Errorf("a resume that may be of a damaged load: %v", err)
	}
	if s, err := rdfload.Load(ctx, sink, sources(d), rdfload.Options{}); err != nil || s.New != 10 {
		t.Errorf("%+v, %v", s, err)
	}
	for name, want := range map[string]bool{"nomanifest": false, "document": false, "damaged": true, "newer": true} {
		if _, err := os.Stat(filepath.Join(sink.Dir(), name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPublishedTwice resumes a load that was published but ended before it returned.
func TestPublishedTwice(t *testing.T) {
	db := newStore(t)
	d := &document{name: "doc.nt", data: []byte(text(0, 500) + brokenLines[0] + "\n")}
	opts := rdfload.Options{KeepGoing: true}
	opts.SetLimits(1, 0, 4000, 0, 0)
	hook := func(event string) error {
		if event == "published" {
			return errFault
		}
		return nil
	}
	if _, err := rdfload.Load(ctx, hookedSink{db.Sink(), hook}, sources(d), opts); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	_, state := kept(t, db.Sink())
	var rejects bytes.Buffer
	opts.Resume, opts.Rejects = true, &rejects
	again := *d
	again.opens = 0
	s, err := rdfload.Load(ctx, db.Sink(), sources(&again), opts)
	want := rdfload.Record{ID: state.ID, Read: 500, New: 500, Rejected: 1, Predicates: s.Predicates}
	if err != nil || !reflect.DeepEqual(s.Record, want) || again.opens > 0 {
		t.Fatalf("%+v, want %+v; %d opens, %v", s.Record, want, again.opens, err)
	}
	checkReport(t, rejects.String(), map[string]int{"doc.nt:501:": 1})
	checkNoLoads(t, db.Sink())
	if loads, err := db.Loads(ctx); err != nil || len(loads) != 1 {
		t.Errorf("%v, %v", loads, err)
	}
}

// TestTwoLoads runs two loads of the same name concurrently. Neither may treat the other's
// directory as abandoned.
func TestTwoLoads(t *testing.T) {
	db := newStore(t)
	first := &document{name: "a.nt", data: []byte(text(0, 2000))}
	second := &document{name: "a.nt", data: []byte(text(1, 100))}
	opts := rdfload.Options{}
	opts.SetLimits(1, 0, 4000, 0, 0)
	var once atomic.Bool
	hook := func(event string) error {
		if event != "publish" || !once.CompareAndSwap(false, true) {
			return nil
		}
		if s, err := rdfload.Load(ctx, db.Sink(), sources(second), opts); err != nil || s.New != 100 {
			t.Errorf("the second: %+v, %v", s, err)
		}
		resume := opts
		resume.Resume = true
		if _, err := rdfload.Load(ctx, db.Sink(), sources(second), resume); err == nil || !strings.Contains(err.Error(), "running") {
			t.Errorf("a running load is resumed: %v", err)
		}
		return nil
	}
	s, err := rdfload.Load(ctx, hookedSink{db.Sink(), hook}, sources(first), opts)
	if err != nil || s.New != 2000 {
		t.Fatalf("%+v, %v", s, err)
	}
	checkStored(t, db, parsed(t, text(0, 2000)+text(1, 100)))
	checkNoLoads(t, db.Sink())
}

// TestDocumentIsNotKept cancels a load of an input that can be read only once.
func TestDocumentIsNotKept(t *testing.T) {
	db := newStore(t)
	inner, cancel := context.WithCancelCause(ctx)
	d := &document{name: "a.nt", data: []byte(text(0, 5000)), hook: func(read int64) {
		if read > 100_000 {
			cancel(errFault)
		}
	}}
	opts := rdfload.Options{}
	opts.SetLimits(1, 0, 4000, 0, 0)
	reader := &documentReader{document: d, rest: bytes.NewReader(d.data)}
	_, err := rdfload.Load(inner, db.Sink(), []input.Source{input.Document("a.nt", reader, -1, 0)}, opts)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errFault) || errors.Is(err, rdfload.ErrKept) {
		t.Errorf("%v", err)
	}
	checkNoLoads(t, db.Sink())
}
