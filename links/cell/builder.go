// This file builds a cell: pages first, then edges, then the sections.

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
	// ErrOrder says that a page or an edge came after one that it should be before.
	ErrOrder = errors.New("out of order")
	// ErrRange says that a page is not of the cell's range.
	ErrRange = errors.New("outside the cell's range")
	// ErrUnknownPage says that an edge begins at what is no page of the cell.
	ErrUnknownPage = errors.New("a page that is not known")
	// ErrTooLarge says that a cell would have more than its format can count.
	ErrTooLarge = errors.New("too much for a cell")
)

// Edge is a link as one direction has it: From is the page whose list it is in. In
// direction Backward To links to From.
type Edge struct{ From, To uid.UID }

// Options of a builder. The zero value makes a cell of all UIDs.
type Options struct {
	// Range is the UIDs that the cell is for; the zero value is all of them.
	Range uid.Range
	// Epoch says which changes the cell has taken in, and Meta, of 1 MiB at most, is
	// for the caller alone. Both are kept as they are.
	Epoch uint64
	Meta  []byte
	// Lists, URLs and Labels say how these are coded.
	Lists  lists.Options
	URLs   urls.Options
	Labels lists.LabelOptions
	// Workers is how many goroutines a call may use; 0 is one a processor. The cell
	// is the same whatever it is.
	Workers int
	// Sketches, if it is set, makes the section of that name of the finished cell,
	// which has none yet.
	Sketches func(*Cell) ([]byte, error)
}

// Validate says what is wrong with the options.
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
	return errors.Join(o.Lists.Validate(), o.URLs.Validate(), o.Labels.Validate())
}

// Builder makes a cell. First come all pages, then all edges of both directions, or
// their lists ([Builder.Lists]), then [Builder.Build]. Edges of the two directions may be added by two goroutines at the
// same time; apart from that a builder is for one goroutine. After an error it gives
// no cell.
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
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Range == (uid.Range{}) {
		o.Range.Last = math.MaxUint64
	}
	if o.Workers == 0 {
		o.Workers = processors.Count()
	}
	table, err := urls.NewBuilder(o.URLs)
	if err != nil {
		return nil, err
	}
	b := &Builder{opts: o, urls: table, pages: pageTable{keys: o.Range}}
	for d := range b.sides {
		b.sides[d] = side{direction: Direction(d), pages: &b.pages, workers: o.Workers, batch: batchEdges}
	}
	return b, nil
}

// AddPage adds the next page; UIDs ascend strictly. It copies url. Pages of one host
// that stand together and whose URLs ascend take the least memory.
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

// startHost tells the table of URLs where another host begins.
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

// authority returns the beginning of a URL up to the slash that ends its authority;
// nothing where there is no such slash.
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

// AddEdges adds edges of direction d. They ascend by From, then To, within a call and
// from call to call; one that comes twice is kept once, with its first label. From is
// a page of the cell. To is any page; one of the range that is no page of the cell is
// kept as a ghost. labels, which only direction Forward has, is nil or one for each
// edge. Nothing is kept of the slices but the anchors' bytes.
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

// Duplicates returns how many edges of direction d came more than once, after Build.
func (b *Builder) Duplicates(d Direction) int64 { return b.sides[d].duplicates.Load() }

// Build returns the cell's bytes, for [Open] and [WriteFile]. It ends the builder.
func (b *Builder) Build() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	b.pages.finish()
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
	data, err := b.assemble(built)
	if err != nil {
		b.err = err
		return nil, err
	}
	b.err = errors.New("cell: the builder has built its cell")
	return data, nil
}

// assemble puts the sections together.
func (b *Builder) assemble(built [2]builtLists) ([]byte, error) {
	h := header{pages: b.pages.pages, keys: b.opts.Range, epoch: b.opts.Epoch, meta: b.opts.Meta}
	for d, s := range built {
		h.codec[d], h.links[d], h.maxDegree[d] = s.codec, s.links, s.maxDegree
	}
	data := make([]byte, headerLen+roundUp8(len(h.meta)), b.size(built))
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
	if err := section(sectionSketches, plain(func(dst []byte) []byte { return append(dst, sketches...) })); err != nil {
		return nil, err
	}
	h.seal(data, ends, lengths)
	return data, nil
}

// size is about how many bytes the cell will have.
func (b *Builder) size(built [2]builtLists) int {
	size := 1<<12 + roundUp8(len(b.opts.Meta)) + 48*b.urls.Len()
	for _, s := range built {
		size += int(s.lists.Size()) + 2*b.urls.Len() + 5*len(s.ghosts)
	}
	return size
}
