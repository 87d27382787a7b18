// The files of cells and their deltas. They outlive the process.

package keep

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
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	GraphFile   = "graph.json"
	graphFormat = 5
)

// Files are the cells and rows in the directory of the graph.
type Files struct{ *machine.Machine }

// listing is the content of graph.json. Files without an entry in it are leftovers.
type listing struct {
	Format    int           `json:"format"`
	Predicate string        `json:"predicate"`
	Position  string        `json:"position"` // the position in the feed up to which changes are in the cells and rows
	Next      int           `json:"next"`     // number of the next file
	Cells     []ListingCell `json:"cells"`
	// Sum is the xxhash64, in hex, of the listing as JSON with an empty Sum. It is there
	// because a wrong Feed, or a missing file of rows, would make a wrong graph without an
	// error.
	Sum string `json:"sum"`
}

// ListingCell is one cell: its file, and that of the rows above it if there are some. Each row
// comes after its length in 4 bytes.
type ListingCell struct {
	File string `json:"file"`
	Rows string `json:"rows,omitempty"`
	// RowsSum is the xxhash64, in hex, of the file of rows. It is there because rows do not
	// have their own count.
	RowsSum string `json:"rowsSum,omitempty"`
	// Plain is missing if the graph is not known to be plain (state/plain.go).
	Plain bool `json:"plain,omitempty"`
}

func sumOf(data []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(data)) }

// checksum returns the right value of Sum.
func (l listing) checksum() (string, error) {
	l.Sum = ""
	text, err := json.Marshal(&l)
	return sumOf(text), err
}

// Save writes the cells and rows that are not on disk, then graph.json. Then it removes files that
// are not needed any more.
func (k *Keeper) Save() error {
	// 1. Continue the numbers of files, because a file must never be overwritten while it is
	// listed.
	l := listing{Format: graphFormat, Predicate: k.Options.Predicate, Position: k.At.String()}
	before, err := k.Files.ReadListing()
	if err == nil {
		l.Next = before.Next
	}
	// 2. Write cells that have no file, and the rows of all deltas.
	for _, p := range k.Parts {
		if !p.Ahead.IsZero() {
			continue // the listing has one position
		}
		v := p.Delta.View()
		if p.File == "" {
			name := fmt.Sprintf("%d.cell", l.Next)
			l.Next++
			if err := cell.WriteFile(k.Path(name), v.Cell().Bytes()); err != nil {
				return fmt.Errorf("write a cell: %w", err)
			}
			p.File = name
		}
		kept := ListingCell{File: p.File, Plain: p.Plain}
		if rows := v.Rows(); len(rows) > 0 {
			kept.Rows = fmt.Sprintf("%d.rows", l.Next)
			l.Next++
			data := appendRows(nil, rows)
			kept.RowsSum = sumOf(data)
			if err := cell.WriteFile(k.Path(kept.Rows), data); err != nil {
				return fmt.Errorf("write changes of a cell: %w", err)
			}
			p.Saved = rows[len(rows)-1].Last()
		}
		l.Cells = append(l.Cells, kept)
	}
	// 3. The listing makes the files count, so it must be written after them.
	text, err := l.text()
	if err == nil {
		err = cell.WriteFile(k.Path(GraphFile), text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", GraphFile, err)
	}
	k.saved, k.unsaved, k.unsavedChanges, k.Dirty = k.At, 0, 0, false
	k.savedTime = time.Now()
	k.Files.sweep(&l)
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
func (f *Files) sweep(l *listing) {
	entries, err := os.ReadDir(f.Options.Dir)
	if err != nil {
		return // the next save tries again
	}
	for _, e := range entries {
		name := e.Name()
		if name == GraphFile || slices.ContainsFunc(l.Cells, func(c ListingCell) bool { return c.File == name || c.Rows == name }) {
			continue
		}
		// A stop may have left a cell under its other name.
		whole := strings.TrimSuffix(name, atomicfile.Suffix)
		if strings.HasSuffix(whole, ".cell") || strings.HasSuffix(whole, ".rows") || strings.HasSuffix(name, ".tmp") {
			if err := os.Remove(f.Path(name)); err != nil {
				f.Log.Warn("a file of the link graph that is not needed stays", "file", name, "error", err)
			}
		}
	}
}

func (f *Files) ReadListing() (l listing, err error) {
	text, err := os.ReadFile(f.Path(GraphFile))
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("%s: %w", GraphFile, err)
	}
	if l.Format != graphFormat {
		return l, fmt.Errorf("%s has format %d, not %d", GraphFile, l.Format, graphFormat)
	}
	if sum, err := l.checksum(); err != nil || sum != l.Sum {
		return l, fmt.Errorf("%w: the checksum of %s is %q and should be %s", delta.ErrCorrupt, GraphFile, l.Sum, sum)
	}
	return l, nil
}

// errStale reports that files cannot be used.
var errStale = errors.New("the files are of another store or predicate, or newer than the store")

// readFiles reads the cells and their deltas. end is the present end of the feed.
func (k *Keeper) readFiles(ctx context.Context, end feed.Position) error {
	l, err := k.Files.ReadListing()
	if err != nil {
		return err
	}
	// 1. Reject files that are not of this store and predicate, or newer than the feed.
	at, err := feed.ParsePosition(l.Position)
	if err != nil {
		return err
	}
	if at.Source != end.Source || l.Predicate != k.Options.Predicate || !end.Reaches(at) {
		return errStale
	}
	if err := k.Files.fitsFiles(&l); err != nil {
		return err
	}
	// 2. Read the cells. Together they must have whole partitions.
	parts := make([]*state.Part, len(l.Cells))
	next := uid.UID(0) // where the next cell of an open partition must begin
	for i, c := range l.Cells {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		k.Board.Say("%d of %d cells are read", i, len(l.Cells))
		p, err := k.Files.ReadPart(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		of := machine.PartitionRange(machine.PartitionOf(p.First))
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
		if err := k.Hosts.AddHosts(ctx, p.Delta.View()); err != nil {
			return err
		}
	}
	k.Parts, k.At, k.saved = parts, at, at
	k.savedTime = time.Now()
	return nil
}

// ReadPart reads a cell and the rows of its delta.
func (f *Files) ReadPart(c ListingCell) (*state.Part, error) {
	found, err := cell.OpenFile(f.Path(c.File))
	if err != nil {
		return nil, err
	}
	p := &state.Part{Range: found.Range(), File: c.File, Plain: c.Plain}
	// Read the rows. The checksum must match, because a lost row would not be noticed.
	var rows []*delta.Row
	if c.Rows != "" {
		data, err := os.ReadFile(f.Path(c.Rows))
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
			p.Saved = rows[n-1].Last()
		}
	}
	p.Delta, err = delta.New(found, rows...)
	return p, err
}
