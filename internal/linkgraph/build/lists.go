// Making the lists of a cell of its links: sorted, with targets of other cells apart.

package build

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// listMaker adds the lists of one direction to the builder of a cell.
type listMaker struct {
	*span
	ghosts ordinalSet
	writer *cell.ListWriter
	far    []uint32 // indexes of one page's ghosts
	sorter listSorter
}

// newListMaker begins a direction. Targets in other cells are ghosts.
func (b *builder) newListMaker(maker *cell.Builder, s *span, d cell.Direction, ghosts ordinalSet) (*listMaker, error) {
	uids := make([]uid.UID, 0, ghosts.number())
	ghosts.each(func(o uint32) { uids = append(uids, b.uids[o]) })
	writer, err := maker.Lists(d, uids)
	return &listMaker{span: s, ghosts: ghosts, writer: writer}, err
}

// add adds the list of the next page. The ordinals must ascend. add changes the list.
func (m *listMaker) add(list []uint32, labels []cell.Label) error {
	begin := 0
	for begin < len(list) && list[begin] < m.first {
		begin++
	}
	end := begin
	for end < len(list) && list[end] < m.end {
		list[end] -= m.first
		end++
	}
	m.far = m.far[:0]
	for _, o := range list[:begin] {
		m.far = append(m.far, m.ghosts.place(o))
	}
	for _, o := range list[end:] {
		m.far = append(m.far, m.ghosts.place(o))
	}
	return m.writer.Append(list[begin:end], m.far, labels)
}

// addForward sorts the forward links of a cell by page with a counting sort, and adds the
// lists. It drops the links.
func (b *builder) addForward(maker *cell.Builder, s *span, links *spanLinks) error {
	// 1. Count the links of each page, and collect the ghosts.
	pieces := links.Forward.Pieces
	pages := s.end - s.first
	starts := make([]uint32, pages+1)
	ghosts := newOrdinalSet(len(b.uids))
	total := 0
	for _, piece := range pieces {
		total += len(piece)
		for _, e := range piece {
			starts[uint32(e>>32)-s.first+1]++
			if dst := uint32(e); dst-s.first >= pages {
				ghosts.add(dst)
			}
		}
	}
	if uint64(total) >= 1<<32 {
		return fmt.Errorf("%w: %d links", cell.ErrTooLarge, total)
	}
	// 2. Place the targets. Each piece is freed at once, because it may be large.
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	targets := make([]uint32, total)
	for i, piece := range pieces {
		for _, e := range piece {
			at := &starts[uint32(e>>32)-s.first]
			targets[*at] = uint32(e)
			*at++
		}
		pieces[i] = nil
	}
	// 3. Add the lists. starts[page] is now the end of the page's targets.
	m, err := b.newListMaker(maker, s, cell.Forward, ghosts)
	if err != nil {
		return err
	}
	labels := newLabelReader(links.labels)
	begin := uint32(0)
	for page := range pages {
		end := starts[page] // the start of the next page's targets by now
		list := m.sorter.sortOnce(targets[begin:end])
		begin = end
		if err := m.add(list, labels.labelsOf(s.first+page, list)); err != nil {
			return err
		}
	}
	return nil
}

// labelReader returns labels by links, in their order.
type labelReader struct {
	annotated []labelled
	labels    []cell.Label
}

func newLabelReader(annotated []labelled) *labelReader {
	slices.SortStableFunc(annotated, func(x, y labelled) int {
		switch {
		case x.edge < y.edge:
			return -1
		case x.edge > y.edge:
			return 1
		}
		return 0
	})
	return &labelReader{annotated: annotated}
}

// labelsOf returns the labels of a page's list, nil if there are none. If a link has two, the last
// one counts. Pages must ascend. The result is valid until the next call.
func (r *labelReader) labelsOf(page uint32, list []uint32) []cell.Label {
	for len(r.annotated) > 0 && uint32(r.annotated[0].edge>>32) < page {
		r.annotated = r.annotated[1:]
	}
	if len(r.annotated) == 0 || uint32(r.annotated[0].edge>>32) > page {
		return nil
	}
	r.labels = r.labels[:0]
	for _, to := range list {
		label, edge := cell.NoLabel, uint64(page)<<32|uint64(to)
		for ; len(r.annotated) > 0 && r.annotated[0].edge <= edge; r.annotated = r.annotated[1:] {
			if r.annotated[0].edge == edge {
				label = r.annotated[0].label
			}
		}
		r.labels = append(r.labels, label)
	}
	return r.labels
}

// addBackward adds the backward lists of a cell from the runs of each page. It drops the links.
func (b *builder) addBackward(maker *cell.Builder, s *span, links *spanLinks) error {
	pieces := links.Backward.Pieces
	pages := s.end - s.first
	// A run is identified by its piece and its index there, as 1 + piece<<32 + index.
	first := make([]uint64, pages)
	further := map[uint32][]uint64{}
	ghosts := newOrdinalSet(len(b.uids))
	for i, piece := range pieces {
		EachRun(piece, func(at int, dst uint32, srcs []uint32) {
			place := uint64(i)<<32 + uint64(at) + 1
			if page := dst - s.first; first[page] == 0 {
				first[page] = place
			} else {
				further[page] = append(further[page], place)
			}
			for _, src := range srcs {
				if src-s.first >= pages {
					ghosts.add(src)
				}
			}
		})
	}
	// Most pages have one run, so only the others need a merged copy.
	m, err := b.newListMaker(maker, s, cell.Backward, ghosts)
	if err != nil {
		return err
	}
	// run returns the sources of a run.
	run := func(place uint64) []uint32 {
		piece, at := pieces[(place-1)>>32], uint32(place-1)
		return piece[at+runHead:][:piece[at+1]]
	}
	// Merge the runs of each page, and add its list.
	var all []uint32
	for page, place := range first {
		var list []uint32
		if place > 0 {
			list = run(place)
		}
		if more := further[uint32(page)]; len(further) > 0 && len(more) > 0 {
			all = append(all[:0], list...)
			for _, place := range more {
				all = append(all, run(place)...)
			}
			list = all
		}
		if err := m.add(m.sorter.sortOnce(list), nil); err != nil {
			return err
		}
	}
	links.Backward = runList{}
	return nil
}
