// Effects are made exactly once, whenever the machine stops.

package functions

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// TestCrashes loses power 40 times, or 100, while a counter and an inverse property run, and checks both at
// the end.
func TestCrashes(t *testing.T) {
	seed.Slow(t)
	number := seed.Number(t)
	rng := rand.New(rand.NewPCG(number, 0))
	fs := memdisk.New()
	b := open(t, fs, Options{})
	b.put(counter, module(t, "counter"))
	b.put(Registration{Name: "inverse", Pattern: "? <http://example.org/parentOf> ?", Kinds: []string{"add", "delete"}, TimeoutMS: 10_000}, module(t, "inverse"))
	withIntent := 0
	for range seed.Rounds(40, 100) {
		// 1. Change triples until the power fails. The last changes may be durable or not.
		stop, ended := atomic.Bool{}, make(chan struct{})
		go func() {
			defer close(ended)
			changer := rand.New(rand.NewPCG(number, rng.Uint64()))
			for !stop.Load() {
				i := changer.IntN(2000)
				some := []triple.Triple{likes(i), likes(i + 1), of(fmt.Sprint("p", i), "parentOf", fmt.Sprint("c", i))}
				var err error
				if changer.IntN(3) == 0 {
					_, err = store.Delete(b.ctx, b.checked, some)
				} else {
					_, err = store.Add(b.ctx, b.checked, some)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		}()
		position, err := b.db.Feed().Position(b.ctx)
		require.NoError(t, err)
		wait := rng.IntN(150)
		for range b.db.Feed().Changes(b.ctx, feed.Request{Since: position, Follow: true}) {
			if wait--; wait < 0 {
				break
			}
		}
		clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		// 2. Go on with what the disk has.
		stop.Store(true)
		<-ended
		b.close()
		fs = clone
		b = open(t, fs, Options{})
		if b.state("counter").Intent != nil || b.state("inverse").Intent != nil {
			withIntent++
		}
	}
	// 3. At the end all effects are there once.
	defer b.close()
	want := []string{fmt.Sprint(b.count(triple.Pattern{Predicate: iri("likes")}))}
	b.eventually("the counter", func() bool { return slices.Equal(b.objects("counter", "value"), want) })
	b.eventually("the inverse", func() bool {
		for i := range 2000 {
			p, c := fmt.Sprint("p", i), fmt.Sprint("c", i)
			if b.has(of(p, "parentOf", c)) != b.has(of(c, "childOf", p)) {
				return false
			}
		}
		return true
	})
	t.Logf("%d of 100 crashes left an intent; the counter is %s", withIntent, want)
	if withIntent < 20 {
		t.Errorf("only %d crashes left an intent", withIntent)
	}
}

// TestStaleIntent checks intents that are older than tokens. They were written in part, and triples
// were changed by others meanwhile.
func TestStaleIntent(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	fs := memdisk.New()
	b := open(t, fs, Options{Now: clock})
	b.put(Registration{Name: "none", Pattern: "<a:none> ? ?"}, assemble(t, `(i64.const 0)`))
	kept := of("old", "is", "there")
	b.add(kept, of("taken", "is", "deleted"), of("old", "is", "deleted"))
	since, err := b.db.Feed().Position(b.ctx)
	require.NoError(t, err)
	// 1. An intent of which some operations were written, and some were followed by others' changes.
	operation := func(kind feed.Kind, t triple.Triple) Operation {
		return Operation{Kind: kind, Depth: 1, Triple: textOf(t)}
	}
	in := &Intent{ID: "x", Time: now.Add(-time.Hour), Since: since.String(), Operations: []Operation{
		operation(feed.Add, of("a", "was", "written")),                                                  // and deleted by a client
		operation(feed.Add, of("a", "is", "missing")),                                                   // not written
		operation(feed.Delete, of("old", "is", "deleted")),                                              // not written
		operation(feed.Delete, of("taken", "is", "deleted")),                                            // written, and added by a client
		operation(feed.Add, kept),                                                                       // changes nothing
		{Kind: feed.Annotate, Depth: 1, Triple: textOf(kept), Application: "a", Data: []byte("intent")}, // written, and set by a client
		{Kind: feed.Annotate, Depth: 1, Triple: textOf(kept), Application: "b", Data: []byte("intent")}, // not written
	}}
	require.NoError(t, b.service.Close())
	state, version, err := readState(b.ctx, b.db, "none")
	require.NoError(t, err)
	state.Intent = in
	data, err := state.encode()
	require.NoError(t, err)
	if _, err := store.AnnotateIf(b.ctx, b.db, tripleOf("none"), stateID, data, store.Condition{Version: version}); err != nil {
		t.Fatal(err)
	}
	for _, tr := range []triple.Triple{of("a", "was", "written")} {
		_, err := store.Add(b.ctx, b.db, []triple.Triple{tr})
		require.NoError(t, err)
		_, err = store.Delete(b.ctx, b.db, []triple.Triple{tr})
		require.NoError(t, err)
	}
	_, err = store.Delete(b.ctx, b.db, []triple.Triple{of("taken", "is", "deleted")})
	require.NoError(t, err)
	_, err = store.Add(b.ctx, b.db, []triple.Triple{of("taken", "is", "deleted")})
	require.NoError(t, err)
	require.NoError(t, store.Annotate(b.ctx, b.db, kept, "a", []byte("client")))
	require.NoError(t, b.db.Close())
	// 2. A new runner writes the rest.
	b = open(t, fs, Options{Now: clock})
	defer b.close()
	b.eventually("the end of the intent", func() bool { return b.state("none").Intent == nil })
	for tr, want := range map[triple.Triple]bool{
		of("a", "was", "written"): false, of("a", "is", "missing"): true, of("old", "is", "deleted"): false,
		of("taken", "is", "deleted"): true, kept: true,
	} {
		if b.has(tr) != want {
			t.Errorf("%s: %v, want %v", tr, !want, want)
		}
	}
	r, err := b.db.Reader()
	require.NoError(t, err)
	defer r.Close()
	for app, want := range map[string]string{"a": "client", "b": "intent"} {
		if a, err := r.Annotation(b.ctx, kept, app); err != nil || string(a.Bytes()) != want {
			t.Errorf("annotation %s: %q, %v, want %q", app, a.Bytes(), err, want)
		}
	}
}

// TestFailures checks functions that loop, allocate and trap: they are recorded, skipped or stopped,
// and other writes do not wait for them.
func TestFailures(t *testing.T) {
	seed.Slow(t)
	b := open(t, nil, Options{})
	defer b.close()
	any := "? <http://example.org/x> ?"
	for name, body := range map[string]string{
		"loop":     `(loop $l (br $l)) (i64.const 0)`,
		"allocate": `(loop $l (drop (memory.grow (i32.const 1))) (br $l)) (i64.const 0)`,
		"trap":     `(unreachable)`,
		"garbage":  `(i64.const 4294967304)`,
	} {
		timeout := int64(20)
		if name == "trap" || name == "garbage" {
			timeout = 2000 // a busy machine may take longer than 20 ms to call them
		}
		b.put(Registration{Name: name, Pattern: any, Retries: 1, TimeoutMS: timeout}, assemble(t, body))
	}
	b.put(Registration{Name: "stop", Pattern: any, Then: Stop}, assemble(t, `(unreachable)`))
	b.put(counter, module(t, "counter"))
	// 1. Writes go on, and so do other functions.
	var slowest time.Duration
	for i := range 40 {
		began := time.Now()
		b.add(likes(i), of("a", "x", fmt.Sprint(i)))
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("the slowest of 40 adds took %s", slowest)
	b.eventually("the counter", func() bool { return slices.Equal(b.objects("counter", "value"), []string{"40"}) })
	// 2. Each function has its error.
	for name, want := range map[string]string{"loop": "took too long", "allocate": "took too long", "trap": "unreachable", "garbage": "invalid", "stop": "unreachable"} {
		b.eventually(name, func() bool { return b.state(name).Last != nil })
		s := b.state(name)
		if !strings.Contains(s.Last.Message, want) || !strings.HasPrefix(s.Last.Change, "add <http://example.org/a>") {
			t.Errorf("%s: %+v", name, s.Last)
		}
	}
	b.eventually("all changes to be skipped", func() bool { return b.state("trap").Counts.Skipped == 40 })
	if s := b.state("trap"); s.Counts.Failures != 80 || s.Stopped {
		t.Errorf("trap: %+v", s)
	}
	// 3. A stopped function continues at the same change when it is registered again.
	s := b.state("stop")
	if !s.Stopped || s.Counts.Failures != 1 || s.Counts.Skipped != 0 {
		t.Errorf("stop: %+v", s)
	}
	b.put(Registration{Name: "stop", Pattern: any}, assemble(t, `(i64.const 0)`))
	b.eventually("the function to catch up", func() bool { return b.state("stop").Counts.Calls == 41 })
}

// TestRestored checks that functions go on in a store of a backup, whose feed is another one.
func TestRestored(t *testing.T) {
	seed.Slow(t)
	b := open(t, nil, Options{})
	b.put(counter, module(t, "counter"))
	for i := range 10 {
		b.add(likes(i))
	}
	counted := func(n int) func() bool {
		return func() bool { return slices.Equal(b.objects("counter", "value"), []string{fmt.Sprint(n)}) }
	}
	b.eventually("the counter", counted(10))
	b.eventually("the effects to be known as written", func() bool { return b.state("counter").Intent == nil })
	var archive bytes.Buffer
	require.NoError(t, b.db.Backup(b.ctx, &archive))
	b.close()
	dir := filepath.Join(t.TempDir(), "restored")
	require.NoError(t, store.Restore(t.Context(), dir, &archive))
	b = openDir(t, nil, dir, Options{})
	defer b.close()
	b.eventually("the missed changes to be recorded", func() bool { return b.state("counter").Last != nil })
	for i := range 5 {
		b.add(likes(100 + i))
	}
	b.eventually("the counter of the restored store", counted(15))
}
