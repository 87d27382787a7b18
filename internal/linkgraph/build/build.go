// Building all cells from a snapshot of the store: its pages, and how they are divided.

package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// builder makes the cells of partitions.
type builder struct {
	cells  *Maker
	rows   buildRows
	set    derived.Partitions // of the cells
	others []assign.Assigned  // pages of other partitions that links lead to or come from, by UID
	parts  []triple.Range     // of the links, for each pass

	// later is set if links of unknown pages are left out, because the feed has them behind the
	// position of the build.
	later bool

	expected int // number of pages, about
	table    *table
	uids     []uid.UID // by ordinal, ascending
	Spans    []*span
	near     []int32 // by ordinal >> nearBits: a span that ends behind the first of these ordinals

	links atomic.Int64 // links read in the current pass
	made  atomic.Int64 // bytes of the cells that were made
	mixed atomic.Bool  // the rows are no plain graph, see state/plain.go
	sizes []int64      // bytes of links by span; nil until they must be measured
}

// Maker makes cells from the rows of the store.
type Maker struct {
	*machine.Machine
	Hosts    *pagerows.Hosts
	Board    *state.Board
	Router   *route.Router
	Assigner *assign.Assigner
}

// CellOptions returns the options of a cell.
func (cm *Maker) CellOptions(r uid.Range, workers int) cell.Options {
	return cell.Options{Range: r, Lists: cm.Options.Lists, Workers: workers,
		Sketches: func(made *cell.Cell) ([]byte, error) { return state.MakeSketches(made, cm.Hosts.ForCall()) }}
}

// span is the pages of one cell: the ordinals in [first, end). If it is of another partition than
// those that are built, it has no cell.
type span struct {
	uid.Range
	foreign    bool
	first, end uint32
	maker      *cell.Builder // of the cell
	added      bool          // the maker has the pages
}

const nearBits = 10

// errUnknown reports that links have ends without known UIDs.
var errUnknown = errors.New("pages without known UIDs")

// errManyUnknown reports that these are some of very many.
var errManyUnknown = fmt.Errorf("%w: more than a pass can collect", errUnknown)

// Build makes the cells of partitions from the present content of the store. If pages have no
// UIDs, they get some first. The feed up to the position is certainly in the cells.
func (cm *Maker) Build(ctx context.Context, set derived.Partitions) (parts []*state.Part, at feed.Position, err error) {
	var others []assign.Assigned
	for later := false; ; {
		// 1. The position must be read before the rows, because the cells must have every change up
		// to it. It stays once all pages up to it have UIDs. Else a build would never end while
		// links of new pages are added.
		if !later {
			if at, err = cm.Node.Feed().Position(ctx); err != nil {
				return nil, at, err
			}
		}
		rounds, err := cm.Assigner.AssignRounds(ctx)
		if err != nil {
			return nil, at, err
		}
		cells, plain, unknown, err := cm.tryBuild(ctx, set, others, later)
		if err == nil {
			parts, err = openParts(cells, plain)
		}
		if !errors.Is(err, errUnknown) {
			return parts, at, err
		}
		// 2. Unknown pages are of other partitions, or new.
		later = !errors.Is(err, errManyUnknown)
		if cm.Node.Lone() != nil && set == machine.AllPartitions {
			later = later && len(unknown) < cm.Options.Limits.LoadedPages // a load lies behind the position
			err = cm.Assigner.AssignAll(ctx, unknown, rounds)
		} else {
			others, err = cm.resolveOthers(ctx, set, others, unknown)
		}
		if err != nil {
			return nil, at, err
		}
	}
}

// resolveOthers assigns UIDs to the pages that have none. It returns the pages of other partitions
// than those of the set, with the ones known before.
func (cm *Maker) resolveOthers(ctx context.Context, set derived.Partitions, before []assign.Assigned, urls []string) ([]assign.Assigned, error) {
	others := before
	for some := range route.ChunkURLs(urls, resolvedPages, 8*cm.Options.MessageBytes) {
		found := map[string]uid.UID{}
		if _, err := cm.Assigner.Resolve(ctx, some, found); err != nil {
			return nil, err
		}
		for url, u := range found {
			if u != 0 && !set.Has(machine.PartitionOf(u)) {
				others = append(others, assign.Assigned{URL: url, UID: u})
			}
		}
		cm.Board.Say("%d pages of other partitions are known", len(others))
	}
	slices.SortFunc(others, func(a, b assign.Assigned) int { return cmp.Compare(a.UID, b.UID) })
	return others, nil
}

// resolvedPages is the number of pages whose UIDs a build requests at a time.
const resolvedPages = 1 << 16

// openParts opens cells that were built.
func openParts(cells [][]byte, plain bool) ([]*state.Part, error) {
	parts := make([]*state.Part, 0, len(cells))
	for _, data := range cells {
		if data == nil {
			continue
		}
		c, err := cell.Open(data)
		if err != nil {
			return nil, fmt.Errorf("open a cell that was built: %w", err)
		}
		d, err := delta.New(c)
		if err != nil {
			return nil, err
		}
		parts = append(parts, &state.Part{Range: c.Range(), Delta: d, Plain: plain})
	}
	return parts, nil
}

// tryBuild makes the cells of partitions; those of others are nil. plain reports whether the rows are
// a plain graph. It fails with errUnknown if pages have no known UIDs, and then returns these.
func (cm *Maker) tryBuild(ctx context.Context, set derived.Partitions, others []assign.Assigned, later bool) (cells [][]byte, plain bool, unknown []string, err error) {
	rows, err := cm.OpenBuildRows(ctx)
	if err != nil {
		return nil, false, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if err := cm.fitsBuild(ctx, rows, set); err != nil {
		return nil, false, nil, err
	}
	b, err := cm.NewBuilder(ctx, rows, set, others)
	if err != nil {
		return nil, false, nil, err
	}
	b.later = later
	// If memory does not suffice for all links, each round makes the cells that fit.
	cells = make([][]byte, len(b.Spans))
	for from := 0; from < len(b.Spans); {
		collected, to, err := b.Collect(ctx, from)
		if err != nil {
			return nil, false, collected.unknown(), fmt.Errorf("read links: %w", err)
		}
		if err := b.makeCells(ctx, cells, from, to, collected); err != nil {
			return nil, false, nil, fmt.Errorf("build cells: %w", err)
		}
		from = to
	}
	return cells, !b.mixed.Load(), nil, nil
}

// NewBuilder returns a builder that has read the pages.
func (cm *Maker) NewBuilder(ctx context.Context, rows buildRows, set derived.Partitions, others []assign.Assigned) (b *builder, err error) {
	b = &builder{cells: cm, rows: rows, set: set, others: others}
	if b.expected, err = rows.EstimatePages(ctx, set); err != nil {
		return nil, err
	}
	b.expected = max(b.expected+len(others), cm.Board.LastPages())
	b.table, b.uids = newTable(newSeeds(), b.expected), make([]uid.UID, 0, b.expected)
	if err := b.readPages(ctx); err != nil {
		return nil, fmt.Errorf("read the UIDs of pages: %w", err)
	}
	b.endSpans()
	if b.parts, err = rows.DivideLinks(ctx); err != nil {
		return nil, fmt.Errorf("divide the links: %w", err)
	}
	return b, nil
}

// endSpans builds the index from ordinals to spans.
func (b *builder) endSpans() {
	for i, s := range b.Spans {
		for len(b.near)<<nearBits < int(s.end) {
			b.near = append(b.near, int32(i))
		}
	}
}

// read counts links, and reports progress.
func (b *builder) read(n int) {
	const often = 1 << 20
	if now := b.links.Add(int64(n)); now/often != (now-int64(n))/often {
		b.cells.Board.Say("%d links are read", now)
	}
}

// spanOf returns the index of the span with an ordinal.
func (b *builder) spanOf(ordinal uint32) int {
	i := int(b.near[ordinal>>nearBits])
	for b.Spans[i].end <= ordinal {
		i++
	}
	return i
}
