// Shelf: the database of copied rows on disk.

package copies

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/triple"
)

// Row is one row of a copy; see the package comment for its key. The format of its value
// belongs to the code that makes and reads copies.
type Row struct{ Key, Value []byte }

// shelf is the database of the copied rows.
type shelf struct{ db *pebble.DB }

const (
	shelfCache    = 32 << 20
	shelfMemTable = 8 << 20
)

// openShelf makes an empty database in a directory, and deletes what was there.
func openShelf(fs vfs.FS, dir string) (*shelf, error) {
	if fs == nil {
		fs = vfs.Default
	}
	if err := fs.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("clear the copies of links: %w", err)
	}
	o := &pebble.Options{
		FS: fs, CacheSize: shelfCache, MemTableSize: shelfMemTable, DisableWAL: true,
		FormatMajorVersion: pebble.FormatNewest, Logger: quiet{},
	}
	for level := range o.Levels {
		o.Levels[level].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("open the copies of links: %w", err)
	}
	return &shelf{db}, nil
}

// quiet discards messages, because every error is also returned.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

// Fatalf is called if Pebble cannot continue. Copies can be made again, so the process
// continues, and callers get errors.
func (quiet) Fatalf(string, ...any) {}

func (s *shelf) close() error { return s.db.Close() }

// shelfKey returns the key on the shelf of a row of the copies with an ID.
func shelfKey(id uint64, key []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), id), key...)
}

// replace replaces the rows of ranges, in one batch.
func (s *shelf) replace(id uint64, ranges []triple.Range, rows []Row) error {
	b := s.db.NewBatch()
	defer b.Close()
	for _, r := range ranges {
		if err := b.DeleteRange(shelfKey(id, r.Lo), shelfKey(id, r.Hi), nil); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if err := b.Set(shelfKey(id, r.Key), r.Value, nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.NoSync)
}

// read calls each with the rows of ranges, which must ascend. Rows are valid only during the
// call.
func (s *shelf) read(ctx context.Context, id uint64, ranges []triple.Range, each func(i int, row Row)) (err error) {
	it, err := s.db.NewIterWithContext(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for i, r := range ranges {
		hi := shelfKey(id, r.Hi)
		for valid := it.SeekGE(shelfKey(id, r.Lo)); valid && bytes.Compare(it.Key(), hi) < 0; valid = it.Next() {
			value, err := it.ValueAndErr()
			if err != nil {
				return err
			}
			each(i, Row{it.Key()[8:], value})
		}
		if err := it.Error(); err != nil {
			return err
		}
		if i%checkedRanges == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// walk calls each with the rows of a range until it returns false. Rows are valid only during
// the call.
func (s *shelf) walk(ctx context.Context, id uint64, r triple.Range, each func(row Row) bool) (err error) {
	it, err := s.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: shelfKey(id, r.Lo), UpperBound: shelfKey(id, r.Hi)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if !each(Row{it.Key()[8:], value}) {
			return nil
		}
	}
	return it.Error()
}

// checkedRanges is the number of ranges between two checks of a read's context.
const checkedRanges = 1 << 8
