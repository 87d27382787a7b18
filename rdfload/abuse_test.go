// Tests of loads of damaged and hostile documents.

package rdfload_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/internal/arena"
	"github.com/trefoildb/trefoil/triple"
)

// TestFirstError has many malformed statements. The error must always name the first, even if
// several workers find errors.
func TestFirstError(t *testing.T) {
	store := newStore(t)
	var b strings.Builder
	b.WriteString(text(0, 400))
	for i := range 200 {
		b.WriteString("<x:s> <x:p> <x:o o> .\n")
		b.WriteString(text(i, 3))
	}
	for i, name := range []string{"a.nt", "a.nq", "a.ttl", "a.trig"} {
		for workers := 1; workers <= 4; workers++ {
			opts := rdfload.Options{Workers: workers}
			opts.SetLimits(int64(workers%2), 0, 2000, 50, 0) // with runs before it, and without
			d := &document{name: name, data: []byte(b.String())}
			_, err := rdfload.Load(ctx, store.Sink(), sources(d), opts)
			var syntax *triple.SyntaxError
			if !errors.Is(err, rdfload.ErrRejected) || !errors.As(err, &syntax) || errors.Is(err, rdfload.ErrKept) {
				t.Fatalf("%s: %v", name, err)
			}
			if syntax.Line != 401 || !strings.HasPrefix(err.Error(), name+":401:") || strings.Count(err.Error(), ":401:") != 1 {
				t.Errorf("%d: %v", i, err)
			}
			checkNoLoads(t, store.Sink())
		}
	}
	checkStored(t, store, set{})
}

// TestReadErrors ends inputs early. A load must never be silently shorter.
func TestReadErrors(t *testing.T) {
	store := newStore(t)
	plain := []byte(text(0, 3000))
	for name, want := range map[string]error{"a.nt": errFault, "a.ttl": errFault, "a.nt.gz": input.ErrTruncated, "a.nt.zst": input.ErrTruncated, "a.ttl.gz": input.ErrTruncated} {
		ext := ""
		if i := strings.LastIndex(name, "."); i > 3 {
			ext = name[i:]
		}
		whole := compressed(ext, plain)
		for _, percent := range []int{1, 50, 99} {
			d := &document{name: name, data: whole}
			if cut := len(whole) * percent / 100; want == errFault {
				d.fail, d.failAt = errFault, int64(cut)
			} else {
				d.data = whole[:cut]
			}
			good := &document{name: "good.nt", data: []byte(text(1, 10))}
			for _, list := range [][]input.Source{sources(d), sources(good, d), sources(d, good)} {
				_, err := rdfload.Load(ctx, store.Sink(), list, rdfload.Options{Workers: 2, KeepGoing: true})
				if !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s cut at %d%%: %v", name, percent, err)
				}
				checkNoLoads(t, store.Sink())
			}
		}
	}
	checkStored(t, store, set{})
}

func TestEmpty(t *testing.T) {
	store := newStore(t)
	for i, name := range []string{"a.nt", "a.nq", "a.ttl", "a.trig"} {
		for _, content := range []string{"", "\n", "# only\n# comments", "\xEF\xBB\xBF", "\r\n\r\n"} {
			d := &document{name: name, data: []byte(content)}
			s, err := rdfload.Load(ctx, store.Sink(), sources(d), rdfload.Options{Workers: 1 + i%2})
			if err != nil || s.Read+s.New+s.Rejected != 0 || s.Bytes != int64(len(content)) {
				t.Errorf("%s %q: %+v, %v", name, content, s, err)
			}
		}
	}
	checkStored(t, store, set{})
	checkNoLoads(t, store.Sink())
}

func TestManyPredicates(t *testing.T) {
	store := newStore(t)
	var b strings.Builder
	n := int64(100_000)
	if testing.Short() {
		n = 20_000
	}
	for i := range n {
		fmt.Fprintf(&b, "<x:s> <x:p%d> <x:o> .\n", i)
	}
	s, err := rdfload.Load(ctx, store.Sink(), sources(&document{name: "a.nt", data: []byte(b.String())}), rdfload.Options{})
	if err != nil || s.New != n {
		t.Fatalf("%+v, %v", s, err)
	}
	if report, err := store.Check(ctx); err != nil || report.Triples != n || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestMaxLine has lines around the cap.
func TestMaxLine(t *testing.T) {
	const most = 10_000
	line := func(length int) string {
		return "<x:s> <x:p> \"" + strings.Repeat("x", length-len("<x:s> <x:p> \"\" .")) + "\" .\n"
	}
	for _, test := range []struct {
		length int
		fits   bool
	}{{most, true}, {most + 1, false}, {100 * most, false}} {
		d := &document{name: "a.nt", data: []byte(text(0, 100) + line(test.length) + text(1, 100))}
		_, err := rdfload.Load(ctx, newStore(t).Sink(), sources(d), rdfload.Options{MaxLine: most})
		if test.fits != (err == nil) || err != nil && (!strings.HasPrefix(err.Error(), "a.nt:101:") || !strings.Contains(err.Error(), "--max-line")) {
			t.Errorf("a line of %d bytes: %v", test.length, err)
		}
		s, err := rdfload.Load(ctx, newStore(t).Sink(), sources(d), rdfload.Options{MaxLine: most, KeepGoing: true})
		if rejected := map[bool]int64{false: 1}[test.fits]; err != nil || s.Rejected != rejected || s.Read != 201-rejected || s.Bytes != int64(len(d.data)) {
			t.Errorf("a line of %d bytes: %+v, %v", test.length, s, err)
		}
	}
}

var errFull = errors.New("the disk is full")

// TestDiskFull has a disk without room for the n-th request. The first is the directory of the
// load, the second its first run.
func TestDiskFull(t *testing.T) {
	store := newStore(t)
	for _, at := range []int{1, 2, 3, 6, 13} {
		n := 0
		var mu sync.Mutex
		hook := func(event string) error {
			mu.Lock()
			defer mu.Unlock()
			if event == "room" {
				if n++; n >= at {
					return errFull
				}
			}
			return nil
		}
		opts := rdfload.Options{Workers: 2}
		opts.SetLimits(1, 3, 5000, 0, 1)
		d := &document{name: "a.nt", data: []byte(text(0, 1000))}
		_, err := rdfload.Load(ctx, hookedSink{store.Sink(), hook}, sources(d), opts)
		if !errors.Is(err, errFull) || errors.Is(err, rdfload.ErrKept) != (at > 2) {
			t.Errorf("at call %d: %v", at, err)
		}
		checkStored(t, store, set{})
	}
	opts := rdfload.Options{Resume: true}
	s, err := rdfload.Load(ctx, store.Sink(), sources(&document{name: "a.nt", data: []byte(text(0, 1000))}), opts)
	if err != nil || s.New != 1000 || !s.Resumed {
		t.Errorf("with room again: %+v, %v", s, err)
	}
}

// TestCancelSoon cancels a load while it works.
func TestCancelSoon(t *testing.T) {
	g, err := dataset.New("lubm", 1, 150_000)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if _, err := g.Generate(ctx, &b); err != nil {
		t.Fatal(err)
	}
	store := newStore(t)
	for _, phase := range []rdfload.Phase{rdfload.Reading, rdfload.Sorting, rdfload.Writing, rdfload.Merging} {
		inner, cancel := context.WithCancel(ctx)
		var at time.Time
		opts := rdfload.Options{Workers: 2, Progress: func(p rdfload.Progress) {
			if p.Phase == phase && p.Triples > 0 && at.IsZero() {
				at = time.Now()
				cancel()
			}
		}}
		opts.SetLimits(30_000, 3, 0, 0, 0)
		opts.SetProgressEvery(time.Millisecond)
		d := &document{name: "a.nt", data: []byte(b.String())}
		_, err := rdfload.Load(inner, store.Sink(), sources(d), opts)
		if at.IsZero() || !errors.Is(err, context.Canceled) {
			t.Errorf("in phase %s: %v", phase, err)
		}
		if after := time.Since(at); after > 20*time.Second {
			t.Errorf("in phase %s it took %s", phase, after)
		}
		cancel()
	}
	checkStored(t, store, set{})
}

// TestProgress checks the progress of loads through all phases.
func TestProgress(t *testing.T) {
	store := newStore(t)
	data := text(0, 30_000)
	var all []rdfload.Progress
	opts := rdfload.Options{Workers: 2, Progress: func(p rdfload.Progress) { all = append(all, p) }}
	opts.SetLimits(10_000, 3, 10_000, 0, 1<<16)
	opts.SetProgressEvery(200 * time.Microsecond)
	d := &document{name: "a.nt", data: []byte(data)}
	if _, err := rdfload.Load(ctx, store.Sink(), sources(d), opts); err != nil {
		t.Fatal(err)
	}
	seen := make(map[rdfload.Phase]int)
	for i, p := range all {
		seen[p.Phase]++
		if p.TotalBytes != int64(len(data)) || p.Bytes < 0 || p.Bytes > p.TotalBytes || p.Done < 0 || p.Done > 1 || p.Triples > 30_000 {
			t.Fatalf("%+v", p)
		}
		if i == 0 {
			continue
		}
		if before := all[i-1]; p.Bytes < before.Bytes || p.Triples < before.Triples || p.Rejected < before.Rejected ||
			p.Phase == rdfload.Reading && before.Phase == p.Phase && p.Done < before.Done {
			t.Fatalf("%+v, and then %+v", before, p)
		}
	}
	if last := all[len(all)-1]; last.Phase != rdfload.Publishing || last.Triples != 30_000 || last.Bytes != last.TotalBytes {
		t.Errorf("at last %+v", last)
	}
	for _, phase := range []rdfload.Phase{rdfload.Reading, rdfload.Writing, rdfload.Merging} {
		if seen[phase] == 0 {
			t.Errorf("phase %s is never seen in %v", phase, seen)
		}
	}
}

func TestSummaryJSON(t *testing.T) {
	got, err := json.Marshal(rdfload.Summary{Record: rdfload.Record{ID: "x", Read: 5, New: 3, Duplicates: 2, Rejected: 1}, Bytes: 100,
		Duration: time.Second, Rate: 5, PeakMemory: 1 << 20, Runs: 2, Resumed: true})
	const want = `{"id":"x","read":5,"new":3,"duplicates":2,"rejected":1,"bytes":100,"duration_ns":1000000000,` +
		`"triples_per_second":5,"peak_memory":1048576,"runs":2,"resumed":true}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// TestArenas checks that loads have released all their memory.
func TestArenas(t *testing.T) {
	if n := arena.Reserved(); n != 0 {
		t.Errorf("%d bytes are reserved", n)
	}
}

// BenchmarkLoad loads a million generated triples into an empty store.
func BenchmarkLoad(b *testing.B) {
	const n = 1_000_000
	g, err := dataset.New("lubm", 1, n)
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	if _, err := g.Generate(ctx, &text); err != nil {
		b.Fatal(err)
	}
	for _, memory := range []int64{rdfload.MinMemory, 1 << 30} {
		b.Run(fmt.Sprintf("memory=%dMiB", memory>>20), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			size := int64(0)
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				store := openStore(b, dir)
				b.StartTimer()
				s, err := rdfload.Load(ctx, store.Sink(), sources(&document{name: "a.nt", data: []byte(text.String())}), rdfload.Options{Memory: memory})
				b.StopTimer()
				if err != nil || s.New == 0 {
					b.Fatal(s, err)
				}
				size = tableBytes(b, dir)
				closeStore(b, store)
				b.StartTimer()
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "triples/s")
			b.ReportMetric(float64(size)/n, "bytes/triple")
		})
	}
}
