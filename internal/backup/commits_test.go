// Increments over commits that the feed delivers in parts.

package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

// tapped is a store whose feed a test watches.
type tapped struct {
	backup.Source
	feed feed.Source
}

func (s tapped) Feed() feed.Source { return s.feed }

// TestLargeCommits: a chain of a full archive and increments has whole commits only, whatever part the feed fails at.
func TestLargeCommits(t *testing.T) {
	db := storetest.Open(t)
	dir, restored := t.TempDir(), 0
	word := func(i int) triple.Term { return triple.NewString(fmt.Sprint("word ", i)) }
	feedtest.Follower(t, db, word, func(s *feedtest.Source) feedtest.Consumer {
		source := tapped{db, s}
		var chain [][]byte
		var end feed.Position
		// An archive that broke off is not used, so the next one begins at the same position.
		take := func(write func(io.Writer) error) error {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				return err
			}
			info, err := backup.Read(bytes.NewReader(out.Bytes()))
			if err != nil {
				return err
			}
			chain, end = append(chain, out.Bytes()), info.End
			return nil
		}
		if err := take(func(w io.Writer) error { return backup.Full(t.Context(), source, "test", w) }); err != nil {
			t.Fatal(err)
		}
		return feedtest.Consumer{
			Follow: func(ctx context.Context) error {
				return take(func(w io.Writer) error { return backup.Increment(ctx, source, end, "test", w) })
			},
			Objects: func(ctx context.Context) (list []triple.Term, err error) {
				var archives []backup.Archive
				for i, text := range chain {
					archives = append(archives, backup.Archive{Name: fmt.Sprint("archive ", i), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
				}
				restored++
				to := filepath.Join(dir, fmt.Sprint(restored))
				if _, err := backup.Restore(ctx, to, archives, backup.Options{}); err != nil {
					return nil, err
				}
				copied, err := store.Open(to, store.Options{MinFreeBytes: -1})
				if err != nil {
					return nil, err
				}
				all, err := feedtest.Stored(ctx, copied)
				for _, one := range all {
					list = append(list, one.Object)
				}
				return list, errors.Join(err, copied.Close())
			},
		}
	})
}
