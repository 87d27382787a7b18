// The end of a cluster's backup is a consistent state.

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

// orderedWriter is a writer that adds one triple after the other, each after the answer to the one before,
// through any machine and to any sequencer.
type orderedWriter struct {
	name   string
	random *rand.Rand
	acked  atomic.Int64
}

func (n *orderedWriter) triple(number int64) triple.Triple {
	at := (number*1009 + int64(n.name[0])*101) % 3000
	return triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://ex/s%d", at)), Predicate: triple.NewIRI("http://ex/" + n.name), Object: triple.NewTyped(fmt.Sprint(number), triple.XSDInteger)}
}

// check compares a restored state with the writer's order: it must have all triples up to one, and all
// that were acknowledged.
func (n *orderedWriter) check(t *testing.T, state map[string]map[string]string, acked int64) {
	t.Helper()
	gap := int64(0)
	for number := int64(1); number <= n.acked.Load(); number++ {
		_, ok := state[string(triple.AppendNQuad(nil, n.triple(number)))]
		switch {
		case !ok && number <= acked:
			t.Errorf("writer %s: triple %d of %d that were acknowledged before the backup began is missing", n.name, number, acked)
			return
		case !ok && gap == 0:
			gap = number
		case ok && gap != 0:
			t.Errorf("writer %s: the state has triple %d, and not %d, which was acknowledged before", n.name, number, gap)
			return
		}
	}
}

// TestBackupConsistent: a full backup and increments are taken while writers add triples in order,
// through machines that the requests of the backup reach at very different times. Each state has a prefix of every writer's triples.
func TestBackupConsistent(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		w.form()
		// 1. Have enough triples for segments on all machines, and a network with delays.
		var all []triple.Triple
		for n := range 3000 {
			all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://ex/s%d", n)), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewString(string(bytes.Repeat([]byte{'a' + byte(n%26)}, 300)))})
		}
		w.must("add", func(ctx context.Context) error {
			_, err := store.Add(ctx, w.machines[0].node, all)
			return err
		})
		w.until("segments are split", func() bool { return w.segments() > 20 })
		w.net.Delay(time.Millisecond, 10*time.Millisecond)
		// 2. Write, and take backups meanwhile.
		ctx, cancel := context.WithCancel(t.Context())
		var writing sync.WaitGroup
		var writers []*orderedWriter
		for i := range 5 {
			n := &orderedWriter{name: string(rune('a' + i)), random: rand.New(rand.NewPCG(w.seed, uint64(i)))}
			writers = append(writers, n)
			writing.Go(func() {
				for number := int64(1); ctx.Err() == nil; {
					m := w.machines[1+n.random.IntN(3)]
					if _, err := store.Add(t.Context(), m.node, []triple.Triple{n.triple(number)}); err == nil {
						n.acked.Store(number)
						number++
					}
				}
			})
		}
		// The requests of the backups reach one machine much later than the others.
		late := rand.New(rand.NewPCG(w.seed, 100))
		writing.Go(func() {
			for ctx.Err() == nil {
				from, to := w.machines[0].name, w.machines[1+late.IntN(3)].name
				w.net.CutOneWay(from, to)
				time.Sleep(400 * time.Millisecond) // of virtual time
				w.net.Mend(from, to)
				time.Sleep(20 * time.Millisecond)
			}
		})
		var chain []backup.Archive
		var acked [][]int64
		var end feed.Position
		for range 5 {
			before := make([]int64, len(writers))
			for i, n := range writers {
				before[i] = n.acked.Load()
			}
			var archive bytes.Buffer
			s := w.machines[0].node
			err := error(nil)
			if end.IsZero() {
				err = s.Backup(t.Context(), &archive)
			} else {
				err = backup.Increment(t.Context(), s, end, "test", &archive)
			}
			require.NoError(t, err)
			info, err := backup.Read(bytes.NewReader(archive.Bytes()))
			require.NoError(t, err)
			end = info.End
			chain = append(chain, backup.Archive{Name: "archive", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }})
			acked = append(acked, before)
		}
		cancel()
		writing.Wait()
		// 3. Compare the end of each backup with the order of each writer.
		for i := range chain {
			dir := filepath.Join(t.TempDir(), "restored")
			if _, err := backup.Restore(t.Context(), dir, chain[:i+1], backup.Options{}); err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(dir, store.Options{MinFreeBytes: -1})
			require.NoError(t, err)
			state, err := storetest.Content(t.Context(), s)
			require.NoError(t, s.Close())
			require.NoError(t, err)
			for j, n := range writers {
				n.check(t, state, acked[i][j])
			}
		}
	})
}
