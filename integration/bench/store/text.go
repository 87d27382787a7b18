// Long texts: loads, and other layouts of tables.

package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// text measures data of long texts: the load, and the same rows in other tables. These differ
// in block size, in compression, and in the length from which a term leaves the key.
func (b *bench) text(ctx context.Context) error {
	file, err := b.Data(ctx, "texts", b.texts)
	if err != nil {
		return err
	}
	if err := b.loadOnce(ctx, "texts", "", "-", file); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir("texts"))
	// The default options, because the variants are rewritten from its rows.
	db, err := store.Open(b.dir("texts"), store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	sn, err := db.Snapshot()
	if err != nil {
		return err
	}
	defer sn.Close()

	// The store is read once for each variant.
	for _, v := range []variant{
		{"32 KiB blocks, snappy", 32 << 10, block.SnappyCompression, 0},
		{"16 KiB blocks, zstd 3", 16 << 10, zstd(3), 0},
		{"32 KiB blocks, zstd 3 (as built)", 32 << 10, zstd(3), 0},
		{"64 KiB blocks, zstd 3", 64 << 10, zstd(3), 0},
		{"128 KiB blocks, zstd 3", 128 << 10, zstd(3), 0},
		{"32 KiB blocks, zstd 1", 32 << 10, zstd(1), 0},
		{"32 KiB blocks, zstd 7", 32 << 10, zstd(7), 0},
		{"128 KiB blocks, zstd 7", 128 << 10, zstd(7), 0},
		{"32 KiB, zstd 3, terms over 256 bytes in values", 32 << 10, zstd(3), 256},
		{"32 KiB, zstd 3, terms over 512 bytes in values", 32 << 10, zstd(3), 512},
		{"32 KiB, zstd 3, terms over 256 bytes once, in a table of terms", 32 << 10, zstd(3), -256},
	} {
		size, rows, err := b.rewrite(ctx, sn, v)
		if err != nil {
			return err
		}
		// A triple has a row in each of three orders.
		b.Report.Row("text-heavy, "+v.name+": bytes a triple", "-", "%.1f", float64(size)/(float64(rows)/3))
	}
	return nil
}

// zstd returns Pebble's profile for zstd at another level.
func zstd(level uint8) *block.CompressionProfile {
	p := *block.ZstdCompression
	p.Name = fmt.Sprintf("ZSTD%d", level)
	p.DataBlocks.Level, p.ValueBlocks.Level, p.OtherBlocks.Level = level, level, level
	return &p
}

// variant is a layout of rows in tables.
type variant struct {
	name        string
	blockBytes  int
	compression *block.CompressionProfile
	long        int // bytes from which a term leaves the key for the value; below 0: for a table of terms
}

// rewrite writes the rows of all orders in the layout of a variant, and returns the size of the
// tables.
func (b *bench) rewrite(ctx context.Context, sn *store.Snapshot, v variant) (size, rows int64, err error) {
	out := newTables(filepath.Join(b.Dir, "variant"), v)
	defer os.RemoveAll(out.path)
	terms := make(map[[16]byte][]byte)
	for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
		for row, err := range sn.Range(ctx, triple.Bounds{Order: o}, store.ReadOptions{}) {
			if err != nil {
				return 0, 0, err
			}
			key, value, err := v.row(row, terms)
			if err != nil {
				return 0, 0, err
			}
			if err := out.set(key, value); err != nil {
				return 0, 0, fmt.Errorf("row %d: %w", rows, err)
			}
			rows++
		}
		n, err := out.close()
		if err != nil {
			return 0, 0, err
		}
		size += n
	}
	n, err := out.writeTerms(terms)
	return size + n, rows, err
}

// tables writes one table after the other and adds up their sizes.
type tables struct {
	path string
	v    variant
	w    *sstable.Writer
}

func newTables(path string, v variant) *tables { return &tables{path: path, v: v} }

func (t *tables) set(key, value []byte) error {
	if t.w == nil {
		f, err := vfs.Default.Create(t.path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		o := &pebble.Options{FormatMajorVersion: pebble.FormatNewest}
		o.EnsureDefaults()
		w := o.MakeWriterOptions(6, sstable.TableFormatPebblev4)
		w.BlockSize, w.Compression = t.v.blockBytes, t.v.compression
		t.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), w)
	}
	return t.w.Set(key, value)
}

func (t *tables) close() (int64, error) {
	if t.w == nil {
		return 0, nil
	}
	err := t.w.Close()
	t.w = nil
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(t.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
