// Helpers of the tests: a lone store with its functions.

package functions

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/wat"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ex = "http://example.org/"

func iri(name string) triple.Term { return triple.NewIRI(ex + name) }

func integer(n int) triple.Term { return triple.NewTyped(fmt.Sprint(n), triple.XSDInteger) }

// of returns a triple of names below example.org; o may be a term.
func of(s, p string, o any) triple.Triple {
	object, ok := o.(triple.Term)
	if !ok {
		object = iri(o.(string))
	}
	return triple.Triple{Subject: iri(s), Predicate: iri(p), Object: object}
}

// module reads a module of the sandbox's tests.
func module(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("sandbox", "testdata", name+".wasm"))
	require.NoError(t, err)
	return data
}

// assemble returns a module whose trefoil_run has a body.
func assemble(t testing.TB, body string) []byte {
	t.Helper()
	return assembleFields(t, "", body)
}

func assembleFields(t testing.TB, fields, body string) []byte {
	t.Helper()
	data, err := wat.Assemble(`(module (memory (export "memory") 1) ` + fields + `
		(func (export "trefoil_input") (param $size i32) (result i32) (i32.const 4096))
		(func (export "trefoil_run") (param $at i32) (param $size i32) (result i64) ` + body + `))`)
	require.NoError(t, err)
	return data
}

// bench is a lone store with its service.
type bench struct {
	testing.TB
	ctx     context.Context
	db      *store.Store
	service *Service
	checked store.Triples
}

func open(t testing.TB, fs vfs.FS, options Options) *bench {
	t.Helper()
	dir := "data"
	if fs == nil {
		dir = t.TempDir()
	}
	return openDir(t, fs, dir, options)
}

func openDir(t testing.TB, fs vfs.FS, dir string, options Options) *bench {
	t.Helper()
	db, err := store.Open(dir, store.Options{FS: fs, MinFreeBytes: -1, CacheBytes: 8 << 20, MemTableBytes: 8 << 20})
	require.NoError(t, err)
	options.Store, options.Feed = db, db.Feed()
	b := &bench{TB: t, ctx: context.Background(), db: db, service: Open(options)}
	b.checked = b.service.Checked()
	return b
}

func (b *bench) close() {
	b.Helper()
	if err := b.service.Close(); err != nil {
		b.Error(err)
	}
	if err := b.db.Close(); err != nil {
		b.Error(err)
	}
}

func (b *bench) put(r Registration, module []byte) {
	b.Helper()
	if _, err := b.service.Put(b.ctx, r, module); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) add(triples ...triple.Triple) {
	b.Helper()
	if _, err := store.Add(b.ctx, b.checked, triples); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) has(t triple.Triple) bool {
	b.Helper()
	sn, err := b.db.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	defer sn.Close()
	has, err := sn.Has(b.ctx, t)
	if err != nil {
		b.Fatal(err)
	}
	return has
}

func (b *bench) count(p triple.Pattern) int64 {
	b.Helper()
	sn, err := b.db.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	defer sn.Close()
	n, err := sn.Count(b.ctx, p)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// objects returns the objects of a subject and predicate.
func (b *bench) objects(s, p string) (all []string) {
	b.Helper()
	sn, err := b.db.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	defer sn.Close()
	for row, err := range sn.Match(b.ctx, triple.Pattern{Subject: iri(s), Predicate: iri(p)}, store.ReadOptions{}) {
		if err != nil {
			b.Fatal(err)
		}
		t, err := row.Triple()
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, t.Object.Value())
	}
	return all
}

func (b *bench) state(name string) *State {
	b.Helper()
	status, err := b.service.Get(b.ctx, name)
	if err != nil {
		b.Fatal(err)
	}
	return status.State
}

// eventually waits for a condition.
func (b *bench) eventually(what string, condition func() bool) {
	b.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			list, err := b.service.List(b.ctx)
			for _, s := range list {
				b.Logf("%+v %+v %+v", s, s.State, s.State.Last)
			}
			b.Fatalf("waited in vain for %s; %v", what, err)
		}
		time.Sleep(time.Millisecond)
	}
}
