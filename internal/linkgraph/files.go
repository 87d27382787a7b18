// The files of cells and their deltas. They outlive the process.

package linkgraph

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	graphFile   = "graph.json"
	graphFormat = 3
)

// listing is the content of graph.json. Files without an entry in it are leftovers.
type listing struct {
	Format    int           `json:"format"`
	Store     string        `json:"store"` // the source of the feed's positions: cells of another store must not be used
	Predicate string        `json:"predicate"`
	Feed      uint64        `json:"feed"` // the sequence of the feed up to which changes are in the cells and rows
	Next      int           `json:"next"` // number of the next file
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
}

func sumOf(data []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(data)) }

// checksum returns the right value of Sum.
func (l listing) checksum() (string, error) {
	l.Sum = ""
	text, err := json.Marshal(&l)
	return sumOf(text), err
}

func (g *Graph) path(name string) string { return filepath.Join(g.o.Dir, name) }

// save writes the cells and rows that are not on disk, then graph.json. Then it removes files that
// are not needed any more.
func (k *keeper) save() error {
	// 1. Continue the numbers of files, because a file must never be overwritten while it is
	// listed.
	l := listing{Format: graphFormat, Store: k.source(), Predicate: k.o.Predicate, Feed: k.feed}
	_, added := k.store.ChangeFeed().Size()
	before, err := k.readListing()
	if err == nil {
		l.Next = before.Next
	}
	// 2. Write cells that have no file, and the rows of all deltas.
	for _, p := range k.parts {
		v := p.delta.View()
		if p.file == "" {
			name := fmt.Sprintf("%d.cell", l.Next)
			l.Next++
			if err := cell.WriteFile(k.path(name), v.Cell().Bytes()); err != nil {
				return fmt.Errorf("write a cell: %w", err)
			}
			p.file = name
		}
		kept := listingCell{File: p.file}
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
	k.saved, k.unsaved, k.unsavedChanges = k.feed, 0, 0
	k.savedAt, k.savedTime = added, time.Now()
	k.sweep(&l)
	return nil
}

// source returns the identity of the feed's positions.
func (k *keeper) source() string { return fmt.Sprintf("%016x", k.store.ChangeFeed().SourceID()) }

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
func (k *keeper) sweep(l *listing) {
	entries, err := os.ReadDir(k.o.Dir)
	if err != nil {
		return // the next save tries again
	}
	for _, e := range entries {
		name := e.Name()
		if name == graphFile || slices.ContainsFunc(l.Cells, func(c listingCell) bool { return c.File == name || c.Rows == name }) {
			continue
		}
		if strings.HasSuffix(name, ".cell") || strings.HasSuffix(name, ".rows") || strings.HasSuffix(name, ".tmp") {
			if err := os.Remove(k.path(name)); err != nil {
				k.log.Warn("a file of the link graph that is not needed stays", "file", name, "error", err)
			}
		}
	}
}

func (g *Graph) readListing() (l listing, err error) {
	text, err := os.ReadFile(g.path(graphFile))
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
var errStale = errors.New("the files are of another store or predicate, or the feed does not reach back to them")

// readFiles reads the cells and their deltas.
func (k *keeper) readFiles(ctx context.Context) error {
	l, err := k.readListing()
	if err != nil {
		return err
	}
	// 1. Reject files that are not of this store and predicate, or newer than the feed.
	last, _ := k.store.ChangeFeed().End()
	if l.Store != k.source() || l.Predicate != k.o.Predicate || l.Feed > last || len(l.Cells) == 0 {
		return errStale
	}
	// 2. Read the cells. They must cover all UIDs without a gap.
	parts := make([]*part, len(l.Cells))
	next := uid.UID(0)
	for i, c := range l.Cells {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		k.say("%d of %d cells are read", i, len(l.Cells))
		p, err := k.readPart(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		if r := p.delta.View().Cell().Range(); r.First != next {
			return fmt.Errorf("%s is of %s, not from %s on", c.File, r, next)
		}
		next = p.Last + 1
		parts[i] = p
	}
	// next is 0 again only if the last cell ends at the greatest UID.
	if next != 0 { // behind the last UID it is 0 again
		return fmt.Errorf("the cells end at %s", next)
	}
	for _, p := range parts {
		k.addHosts(p)
	}
	k.parts, k.feed, k.saved = parts, l.Feed, l.Feed
	k.savedTime = time.Now()
	return nil
}

// addHosts adds the hosts of a part's pages.
func (g *Graph) addHosts(p *part) {
	last := uid.Extent(0)
	for page := range p.delta.View().Pages() {
		if e := page.UID.Extent(); e != last {
			last = e
			g.hosts.add(e, page.URL)
		}
	}
}

// readPart reads a cell and the rows of its delta.
func (k *keeper) readPart(c listingCell) (*part, error) {
	// 1. Open the cell.
	found, err := cell.OpenFile(k.path(c.File))
	if err != nil {
		return nil, err
	}
	p := &part{Range: found.Range(), file: c.File}
	// 2. Read the rows. The checksum must match, because a lost row would not be noticed.
	var rows []*delta.Row
	if c.Rows != "" {
		data, err := os.ReadFile(k.path(c.Rows))
		if err != nil {
			return nil, err
		}
		if sum := sumOf(data); sum != c.RowsSum {
			return nil, fmt.Errorf("%w: the checksum of %s is %s and should be %s", delta.ErrCorrupt, c.Rows, sum, c.RowsSum)
		}
		for len(data) > 0 {
			if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
				return nil, fmt.Errorf("%w: %s is cut off", delta.ErrCorrupt, c.Rows)
			}
			n := 4 + int(binary.LittleEndian.Uint32(data))
			row, err := delta.Open(slices.Clone(data[4:n]))
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
			p.saved = row.Last()
			data = data[n:]
		}
	}
	p.delta, err = delta.New(found, rows...)
	return p, err
}
