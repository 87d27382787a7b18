// Durable adds.

package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

const (
	batchTriples = 1_000
	batches      = 1_000
	writeTime    = 5 * time.Second
	connections  = 64
)

// write measures durable adds.
func (b *bench) write(ctx context.Context) error {
	if err := b.addBatches(ctx); err != nil {
		return err
	}
	if err := b.addOneByOne(ctx); err != nil {
		return err
	}
	return b.postOneByOne(ctx, connections, writeTime)
}

func (b *bench) addBatches(ctx context.Context) error {
	db, err := b.empty("adds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir("adds"))
	defer db.Close()
	r := rand.New(rand.NewPCG(b.Seed, 2))
	batch := make([]triple.Triple, batchTriples)
	var keys [][]byte // of all batches
	var spent time.Duration
	for n := range batches {
		// 1. Make the triples, and their keys for the bound. This time does not count.
		for i := range batch {
			batch[i] = rig.Photo(r, n*batchTriples+i)
		}
		for _, t := range batch {
			for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
				key, _ := triple.AppendKey(nil, o, t)
				keys = append(keys, key)
			}
		}
		// 2. Add them.
		begun := time.Now()
		if _, err := store.Add(ctx, db, batch); err != nil {
			return err
		}
		spent += time.Since(begun)
	}

	// 3. The bound: the same rows without trefoil.
	rate := rig.PerSecond(batches*batchTriples, spent)
	raw, err := b.rawWrite(keys)
	if err != nil {
		return err
	}
	b.Report.Row(fmt.Sprintf("durable adds in batches of %d, one client: triples/s", batchTriples), "100,000", "%s", rig.Thousands(rate))
	b.Report.Row("Pebble writes the same rows in the same synced batches: triples/s", "bound", "%s (ours is %.2fx)", rig.Thousands(raw), rate/raw)
	return nil
}

// rawWrite writes the keys to an empty Pebble database, in batches of the same size. It returns
// triples a second.
func (b *bench) rawWrite(keys [][]byte) (float64, error) {
	dir := filepath.Join(b.Dir, "raw")
	defer os.RemoveAll(dir)
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, MemTableSize: 64 << 20, Logger: silent{}})
	if err != nil {
		return 0, err
	}
	defer db.Close()
	begun := time.Now()
	for group := range slices.Chunk(keys, 3*batchTriples) {
		batch := db.NewBatch()
		for _, key := range group {
			if err := batch.Set(key, []byte{0, 1, 1}, nil); err != nil {
				return 0, err
			}
		}
		if err := batch.Commit(pebble.Sync); err != nil {
			return 0, err
		}
	}
	return rig.PerSecond(int64(len(keys)/3), time.Since(begun)), nil
}

func (b *bench) empty(name string) (*store.Store, error) {
	dir := b.dir(name)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	return store.Open(dir, store.Options{})
}

func (b *bench) addOneByOne(ctx context.Context) error {
	db, err := b.empty("adds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir("adds"))
	defer db.Close()
	// The writers share a counter, because each image must be new.
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	begun := time.Now()
	for c := range connections {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(b.Seed, uint64(c)))
			for time.Since(begun) < writeTime {
				if _, err := store.Add(ctx, db, []triple.Triple{rig.Photo(r, int(next.Add(1)))}); err != nil {
					failed.Add(1)
					return
				}
			}
		})
	}
	wg.Wait()
	// One failure is enough, because a writer ends only after an error.
	if failed.Load() > 0 {
		return fmt.Errorf("%d of %d writers failed", failed.Load(), connections)
	}
	b.Report.Row(fmt.Sprintf("durable adds one by one, %d goroutines: triples/s", connections), "2,000",
		"%s", rig.Thousands(rig.PerSecond(next.Load(), time.Since(begun))))
	return nil
}

// silent is a Pebble logger that discards its messages.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
