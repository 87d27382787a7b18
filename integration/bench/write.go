package main

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

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const (
	batchTriples = 1_000
	batches      = 1_000
	writeFor     = 5 * time.Second
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
	return b.postOneByOne(ctx, connections, writeFor)
}

// photo returns a triple as an application adds them: a hot set of albums and
// tags, new images.
func photo(r *rand.Rand, i int) triple.Triple {
	image := triple.NewIRI(fmt.Sprintf("http://photos.example/image/%d", i))
	switch i % 3 {
	case 0:
		return triple.Triple{Subject: image, Predicate: triple.NewIRI("http://photos.example/onto#inAlbum"),
			Object: triple.NewIRI(fmt.Sprintf("http://photos.example/album/%d", r.IntN(10_000)))}
	case 1:
		return triple.Triple{Subject: image, Predicate: triple.NewIRI("http://photos.example/onto#tag"),
			Object: triple.NewString(fmt.Sprintf("tag%d", r.IntN(1_000)))}
	}
	return triple.Triple{Subject: image, Predicate: triple.NewIRI("http://photos.example/onto#width"),
		Object: triple.NewTyped(fmt.Sprint(r.IntN(6_000)), triple.XSDInteger)}
}

func (b *bench) addBatches(ctx context.Context) error {
	store, err := b.empty("adds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.store("adds"))
	defer store.Close()
	r := rand.New(rand.NewPCG(b.seed, 2))
	batch := make([]triple.Triple, batchTriples)
	var keys [][]byte // of the first batches, for the bound
	var spent time.Duration
	for n := range batches {
		for i := range batch {
			batch[i] = photo(r, n*batchTriples+i)
		}
		for _, t := range batch {
			for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
				key, _ := triple.AppendKey(nil, o, t)
				keys = append(keys, key)
			}
		}
		begun := time.Now()
		if _, err := store.Add(ctx, batch); err != nil {
			return err
		}
		spent += time.Since(begun)
	}
	rate := perSecond(batches*batchTriples, spent)
	raw, err := b.rawWrite(keys)
	if err != nil {
		return err
	}
	b.report.row(fmt.Sprintf("durable adds in batches of %d, one client: triples/s", batchTriples), "100,000", "%s", thousands(rate))
	b.report.row("Pebble writes the same rows in the same synced batches: triples/s", "bound", "%s (ours is %.2fx)", thousands(raw), rate/raw)
	return nil
}

// rawWrite writes the keys in batches of the same size to a Pebble database of
// its own, and returns triples a second.
func (b *bench) rawWrite(keys [][]byte) (float64, error) {
	dir := filepath.Join(b.dir, "raw")
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
	return perSecond(int64(len(keys)/3), time.Since(begun)), nil
}

func (b *bench) empty(name string) (*node.Store, error) {
	dir := b.store(name)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	return node.Open(dir, node.Options{})
}

func (b *bench) addOneByOne(ctx context.Context) error {
	store, err := b.empty("adds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.store("adds"))
	defer store.Close()
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	begun := time.Now()
	for c := range connections {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(b.seed, uint64(c)))
			for time.Since(begun) < writeFor {
				if _, err := store.Add(ctx, []triple.Triple{photo(r, int(next.Add(1)))}); err != nil {
					failed.Add(1)
					return
				}
			}
		})
	}
	wg.Wait()
	if failed.Load() > 0 {
		return fmt.Errorf("%d of %d writers failed", failed.Load(), connections)
	}
	b.report.row(fmt.Sprintf("durable adds one by one, %d goroutines: triples/s", connections), "2,000",
		"%s", thousands(perSecond(next.Load(), time.Since(begun))))
	return nil
}

// silent is a Pebble logger that says nothing.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
