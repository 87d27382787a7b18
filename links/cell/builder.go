// Builder: pages first, then edges, then the sections of a cell.

package cell

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/urls"
	"github.com/trefoildb/trefoil/links/weburl"
)

var (
	// ErrOrder is wrapped if a page or an edge comes after one that must follow it.
	ErrOrder = errors.New("out of order")
	// ErrRange is wrapped if a page is outside the cell's range.
	ErrRange = errors.New("outside the cell's range")
	// ErrUnknownPage is wrapped if an edge does not begin at a page of the cell, or if its
	// target is no valid UID.
	ErrUnknownPage = errors.New("a page that is not known")
	// ErrTooLarge is wrapped if a cell would exceed a limit of its format.
	ErrTooLarge = errors.New("too much for a cell")
)

// Edge is a link as one direction has it: From is the page whose list holds the link. In
// direction Backward, To links to From.
type Edge struct{ From, To uid.UID }

// Options configures a Builder. The zero value makes a cell of all UIDs.
type Options struct {
	// Range is the range of UIDs of the cell; the zero value is all of them.
	Range uid.Range
	// Epoch is the last epoch of changes in the cell. Meta, at most 1 MiB, is for the caller
	// alone. The cell keeps both unchanged.
	Epoch uint64
	Meta  []byte
	// Lists configures the coding of lists.
	Lists lists.Options
	// Workers is how many goroutines a call may use; 0 is one a processor. The bytes of the cell
	// do not depend on it.
	Workers int
	// Sketches returns the section of that name, if set. It gets the finished cell, still
	// without sketches.
	Sketches func(*Cell) ([]byte, error)
}

// Validate returns an error if an option is invalid.
func (o Options) Validate() error {
	if o.Range != (uid.Range{}) && o.Range.Empty() {
		return fmt.Errorf("cell: the range %s is empty: give the least UID first", o.Range)
	}
	if len(o.Meta) > maxMeta {
		return fmt.Errorf("cell: %d bytes of metadata: at most %d", len(o.Meta), maxMeta)
	}
	if o.Workers < 0 {
		return fmt.Errorf("cell: %d workers: use 0 for one a processor", o.Workers)
	}
	return o.Lists.Validate()
}

// Builder makes a cell. All pages must come first, then all edges of both directions or their
// lists ([Builder.Lists]), then [Builder.Build]. Two goroutines may add edges, one for each
// direction. Otherwise a builder is for one goroutine. After an error it builds no cell.
type Builder struct {
	opts  Options
	urls  *urls.Builder
	pages pageTable
	sides [2]side // by Direction

	host []byte // key of the current host
	same []byte // a beginning of URLs that all have this host
	key  []byte
	err  error // of a page
}

// NewBuilder returns a builder of an empty cell.
func NewBuilder(o Options) (*Builder, error) {
	// 1. Check the options and resolve their defaults.
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Range == (uid.Range{}) {
		o.Range.Last = math.MaxUint64
	}
	if o.Workers == 0 {
		o.Workers = processors.Count()
	}
	// 2. Start the table of URLs and one side for each direction.
	b := &Builder{opts: o, urls: urls.NewBuilder(), pages: pageTable{keys: o.Range}}
	for d := range b.sides {
		b.sides[d] = side{direction: Direction(d), pages: &b.pages, workers: o.Workers, batch: batchEdges}
	}
	return b, nil
}

// AddPage adds the next page; UIDs must ascend strictly. It copies url. Pages take the least
// memory if those of one host are together and their URLs ascend.
func (b *Builder) AddPage(u uid.UID, url []byte) error {
	if b.err != nil {
		return b.err
	}
	switch {
	case b.pages.done:
		b.err = fmt.Errorf("cell: page %s after the edges: %w", u, ErrOrder)
	case !u.Valid() || !b.opts.Range.Contains(u):
		b.err = fmt.Errorf("cell: page %s of %s: %w", u, b.opts.Range, ErrRange)
	case b.pages.pages > 0 && u <= b.pages.last:
		b.err = fmt.Errorf("cell: page %s after page %s: %w", u, b.pages.last, ErrOrder)
	default:
		b.startHost(url)
		if b.err = b.urls.Add(url); b.err != nil {
			b.err = fmt.Errorf("cell: page %s: %w", u, b.err)
		} else {
			b.pages.add(u)
		}
	}
	return b.err
}

// startHost starts an extent of the URL table if url has another host than the page before.
func (b *Builder) startHost(url []byte) {
	if len(b.same) > 0 && len(url) >= len(b.same) && string(url[:len(b.same)]) == string(b.same) {
		return
	}
	b.key = weburl.AppendHostKey(b.key[:0], url)
	b.same = append(b.same[:0], authority(url)...)
	if b.pages.pages > 0 && string(b.key) == string(b.host) {
		return
	}
	b.host, b.key = b.key, b.host
	b.urls.StartExtent(hostHash(url))
}

// authority returns the prefix of a URL up to the slash that ends its authority, or nil if there
// is no such slash.
func authority(url []byte) []byte {
	slashes := 0
	for i, c := range url {
		if c == '/' {
			if slashes++; slashes == 3 {
				return url[:i+1]
			}
		}
	}
	return nil
}

// AddEdges adds edges of direction d. They must ascend by From, then To, within a call and from
// call to call. A duplicate is dropped, and the first label stays. From must be a page of the
// cell. To may be any page; if it is in the range but no page of the cell, it becomes a ghost.
// labels is nil or has one label for each edge; in direction Backward it must be nil. The
// builder keeps nothing of the slices but the anchors' bytes.
func (b *Builder) AddEdges(d Direction, edges []Edge, labels []Label) error {
	if b.err != nil {
		return b.err
	}
	if labels != nil && (d != Forward || len(labels) != len(edges)) {
		return fmt.Errorf("cell: %d labels for %d %s edges: give one for each forward one", len(labels), len(edges), d)
	}
	b.pages.finish()
	return b.sides[d].add(edges, labels)
}

// Duplicates returns the number of duplicate edges of direction d. It is valid after Build.
func (b *Builder) Duplicates(d Direction) int64 { return b.sides[d].duplicates.Load() }

// Build returns the cell's bytes, for [Open] and [WriteFile]. It ends the builder.
func (b *Builder) Build() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	b.pages.finish()
	// 1. Build both directions at the same time, because they share only the finished pages.
	var built [2]builtLists
	var errs [2]error
	var wg sync.WaitGroup
	for d := range b.sides {
		wg.Go(func() {
			if built[d], errs[d] = b.sides[d].build(b.opts); errs[d] == nil {
				built[d].codec, errs[d] = built[d].lists.Choose()
			}
		})
	}
	wg.Wait()
	b.err = errors.Join(errs[:]...)
	if b.err != nil {
		return nil, b.err
	}
	// 2. Join the sections. After that every further call must fail, because the sides are used
	// up.
	data, err := b.assemble(built)
	if err != nil {
		b.err = err
		return nil, err
	}
	b.err = errors.New("cell: the builder has built its cell")
	return data, nil
}

// assemble writes the header and the sections into one slice.
func (b *Builder) assemble(built [2]builtLists) ([]byte, error) {
	// 1. Fill the header except for offsets and checksums.
	h := header{pages: b.pages.pages, keys: b.opts.Range, epoch: b.opts.Epoch, meta: b.opts.Meta}
	for d, s := range built {
		h.codec[d], h.links[d], h.maxDegree[d] = s.codec, s.links, s.maxDegree
	}
	data := make([]byte, headerLen+roundUp8(len(h.meta)), b.size(built))
	// 2. Append the sections in format order. Each must begin at a multiple of 8.
	var ends, lengths [numSections]int
	section := func(i int, appendTo func([]byte) ([]byte, error)) error {
		start := len(data)
		var err error
		if data, err = appendTo(data); err != nil {
			return fmt.Errorf("cell: %s: %w", sectionNames[i], err)
		}
		lengths[i] = len(data) - start
		data = append(data, make([]byte, roundUp8(lengths[i])-lengths[i])...)
		ends[i] = len(data)
		return nil
	}
	plain := func(appendTo func([]byte) []byte) func([]byte) ([]byte, error) {
		return func(dst []byte) ([]byte, error) { return appendTo(dst), nil }
	}
	labels := func(dst []byte) []byte { return dst }
	if built[Forward].labels != nil {
		labels = built[Forward].labels.AppendTo
	}
	if err := errors.Join(
		section(sectionPages, plain(func(dst []byte) []byte { return b.pages.appendTo(dst, b.opts.Range.First.Slot()) })),
		section(sectionURLs, plain(b.urls.AppendTo)),
		section(sectionForward, built[Forward].lists.AppendTo),
		section(sectionBackward, built[Backward].lists.AppendTo),
		section(sectionForwardGhosts, plain(func(dst []byte) []byte { return appendGhosts(dst, built[Forward].ghosts) })),
		section(sectionBackwardGhosts, plain(func(dst []byte) []byte { return appendGhosts(dst, built[Backward].ghosts) })),
		section(sectionLabels, plain(labels)),
	); err != nil {
		return nil, err
	}
	// 3. Seal without sketches, because Options.Sketches must get a readable cell.
	ends[sectionSketches] = len(data)
	h.seal(data, ends, lengths)
	if b.opts.Sketches == nil {
		return data, nil
	}
	c, err := open(data, false)
	if err != nil {
		return nil, fmt.Errorf("cell: the cell just built: %w", err)
	}
	sketches, err := b.opts.Sketches(c)
	if err != nil {
		return nil, fmt.Errorf("cell: sketches: %w", err)
	}
	// 4. Append the sketches and seal again, because offsets and checksums have changed.
	if err := section(sectionSketches, plain(func(dst []byte) []byte { return append(dst, sketches...) })); err != nil {
		return nil, err
	}
	h.seal(data, ends, lengths)
	return data, nil
}

// size estimates the cell's length in bytes.
func (b *Builder) size(built [2]builtLists) int {
	size := 1<<12 + roundUp8(len(b.opts.Meta)) + 48*b.urls.Len()
	for _, s := range built {
		size += int(s.lists.Size()) + 2*b.urls.Len() + 5*len(s.ghosts)
	}
	return size
}
