// The files of cells and their deltas. They outlive the process.

package linkgraph

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	graphFile   = "graph.json"
	graphFormat = 5
)

// files are the cells and rows in the directory of the graph.
type files struct{ *machine }

// listing is the content of graph.json. Files without an entry in it are leftovers.
type listing struct {
	Format    int           `json:"format"`
	Predicate string        `json:"predicate"`
	Position  string        `json:"position"` // the position in the feed up to which changes are in the cells and rows
	Next      int           `json:"next"`     // number of the next file
	Cells     []listingCell `json:"cells"`
	// Sum is the xxhash64, in hex, of the listing as JSON with an empty Sum. It is there
	// because a wrong Feed, or a missing file of rows, would make a wrong graph without an
	// error.
	Sum string `json:"sum"`
}

// listingCell is one cell: its file, and that of the rows above it if there are some. Each row
// comes after its length in 4 bytes.
type listingCell struct {
	File string `json:"file"`
	Rows string `json:"rows,omitempty"`
	// RowsSum is the xxhash64, in hex, of the file of rows. It is there because rows do not
	// have their own count.
	RowsSum string `json:"rowsSum,omitempty"`
	// Plain is missing if the graph is not known to be plain (plain.go).
	Plain bool `json:"plain,omitempty"`
}

func sumOf(data []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(data)) }

// checksum returns the right value of Sum.
func (l listing) checksum() (string, error) {
	l.Sum = ""
	text, err := json.Marshal(&l)
	return sumOf(text), err
}

// save writes the cells and rows that are not on disk, then graph.json. Then it removes files that
// are not needed any more.
func (k *keeper) save() error {
	// 1. Continue the numbers of files, because a file must never be overwritten while it is
	// listed.
	l := listing{Format: graphFormat, Predicate: k.o.Predicate, Position: k.at.String()}
	before, err := k.files.readListing()
	if err == nil {
		l.Next = before.Next
	}
	// 2. Write cells that have no file, and the rows of all deltas.
	for _, p := range k.parts {
		if !p.ahead.IsZero() {
			continue // the listing has one position
		}
		v := p.delta.View()
		if p.file == "" {
			name := fmt.Sprintf("%d.cell", l.Next)
			l.Next++
			if err := cell.WriteFile(k.path(name), v.Cell().Bytes()); err != nil {
				return fmt.Errorf("write a cell: %w", err)
			}
			p.file = name
		}
		kept := listingCell{File: p.file, Plain: p.plain}
		if rows := v.Rows(); len(rows) > 0 {
			kept.Rows = fmt.Sprintf("%d.rows", l.Next)
			l.Next++
			data := appendRows(nil, rows)
			kept.RowsSum = sumOf(data)
			if err := cell.WriteFile(k.path(kept.Rows), data); err != nil {
				return fmt.Errorf("write changes of a cell: %w", err)
			}
			p.saved = rows[len(rows)-1].Last()
		}
		l.Cells = append(l.Cells, kept)
	}
	// 3. The listing makes the files count, so it must be written after them.
	text, err := l.text()
	if err == nil {
		err = cell.WriteFile(k.path(graphFile), text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", graphFile, err)
	}
	k.saved, k.unsaved, k.unsavedChanges, k.dirty = k.at, 0, 0, false
	k.savedTime = time.Now()
	k.files.sweep(&l)
	return nil
}

// text returns the listing in the form of the file.
func (l *listing) text() (text []byte, err error) {
	if l.Sum, err = l.checksum(); err != nil {
		return nil, err
	}
	return json.MarshalIndent(l, "", "\t")
}

func appendRows(dst []byte, rows []*delta.Row) []byte {
	for _, r := range rows {
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(r.Bytes()))), r.Bytes()...)
	}
	return dst
}

// sweep removes the files that a listing does not name.
func (f *files) sweep(l *listing) {
	entries, err := os.ReadDir(f.o.Dir)
	if err != nil {
		return // the next save tries again
	}
	for _, e := range entries {
		name := e.Name()
		if name == graphFile || slices.ContainsFunc(l.Cells, func(c listingCell) bool { return c.File == name || c.Rows == name }) {
			continue
		}
		// A stop may have left a cell under its other name.
		whole := strings.TrimSuffix(name, atomicfile.Suffix)
		if strings.HasSuffix(whole, ".cell") || strings.HasSuffix(whole, ".rows") || strings.HasSuffix(name, ".tmp") {
			if err := os.Remove(f.path(name)); err != nil {
				f.log.Warn("a file of the link graph that is not needed stays", "file", name, "error", err)
			}
		}
	}
}

func (f *files) readListing() (l listing, err error) {
	text, err := os.ReadFile(f.path(graphFile))
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("%s: %w", graphFile, err)
	}
	if l.Format != graphFormat {
		return l, fmt.Errorf("%s has format %d, not %d", graphFile, l.Format, graphFormat)
	}
	if sum, err := l.checksum(); err != nil || sum != l.Sum {
		return l, fmt.Errorf("%w: the checksum of %s is %q and should be %s", delta.ErrCorrupt, graphFile, l.Sum, sum)
	}
	return l, nil
}

// errStale reports that files cannot be used.
var errStale = errors.New("the files are of another store or predicate, or newer than the store")

// readFiles reads the cells and their deltas. end is the present end of the feed.
func (k *keeper) readFiles(ctx context.Context, end feed.Position) error {
	l, err := k.files.readListing()
	if err != nil {
		return err
	}
	// 1. Reject files that are not of this store and predicate, or newer than the feed.
	at, err := feed.ParsePosition(l.Position)
	if err != nil {
		return err
	}
	if at.Source != end.Source || l.Predicate != k.o.Predicate || !end.Reaches(at) {
		return errStale
	}
	if err := k.files.fitsFiles(&l); err != nil {
		return err
	}
	// 2. Read the cells. Together they must have whole partitions.
	parts := make([]*part, len(l.Cells))
	next := uid.UID(0) // where the next cell of an open partition must begin
	for i, c := range l.Cells {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		k.board.say("%d of %d cells are read", i, len(l.Cells))
		p, err := k.files.readPart(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		of := partitionRange(partitionOf(p.First))
		if next != 0 && p.First != next || next == 0 && p.First != of.First || i > 0 && p.First <= parts[i-1].Last || p.Last > of.Last {
			return fmt.Errorf("%s is of %s, which is out of place", c.File, p.Range)
		}
		if next = p.Last + 1; p.Last == of.Last {
			next = 0
		}
		parts[i] = p
	}
	if next != 0 {
		return fmt.Errorf("the cells end at %s", next)
	}
	// On a lone node the cells have the hosts of all pages. So all cells are added first.
	for _, p := range parts {
		if err := k.hosts.addHosts(ctx, p); err != nil {
			return err
		}
	}
	k.parts, k.at, k.saved = parts, at, at
	k.savedTime = time.Now()
	return nil
}

// readPart reads a cell and the rows of its delta.
func (f *files) readPart(c listingCell) (*part, error) {
	// 1. Open the cell.
	found, err := cell.OpenFile(f.path(c.File))
	if err != nil {
		return nil, err
	}
	p := &part{Range: found.Range(), file: c.File, plain: c.Plain}
	// 2. Read the rows. The checksum must match, because a lost row would not be noticed.
	var rows []*delta.Row
	if c.Rows != "" {
		data, err := os.ReadFile(f.path(c.Rows))
		if err != nil {
			return nil, err
		}
		if sum := sumOf(data); sum != c.RowsSum {
			return nil, fmt.Errorf("%w: the checksum of %s is %s and should be %s", delta.ErrCorrupt, c.Rows, sum, c.RowsSum)
		}
		if rows, err = openRows(data); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Rows, err)
		}
		if n := len(rows); n > 0 {
			p.saved = rows[n-1].Last()
		}
	}
	p.delta, err = delta.New(found, rows...)
	return p, err
}
