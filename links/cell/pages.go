// Page numbers: UIDs to ordinals and back, as runs of consecutive UIDs.

package cell

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/trefoildb/trefoil/links/ef"
	"github.com/trefoildb/trefoil/links/uid"
)

// packing leaves out the bits of UIDs that are 0 in all of a set: the upper bits of slot, host
// and page. Packed UIDs are closer together, and keep their order.
type packing struct {
	slot               uint // least slot
	hostBits, pageBits uint
}

// packingOf returns the packing of UIDs from slot on, if maxHost and maxPage are their greatest
// host and page numbers.
func packingOf(slot uid.Slot, maxHost, maxPage uint32) packing {
	return packing{uint(slot), uint(bits.Len32(maxHost)), uint(bits.Len32(maxPage))}
}

// pack returns u packed; ok is false if a left-out bit of u is set.
func (p packing) pack(u uid.UID) (packed uint64, ok bool) {
	slot, host, page := uint(u.Slot()), uint64(u.Host()), uint64(u.Page())
	if slot < p.slot || host>>p.hostBits|page>>p.pageBits != 0 {
		return 0, false
	}
	return (uint64(slot-p.slot)<<p.hostBits|host)<<p.pageBits | page, true
}

func (p packing) unpack(packed uint64) uid.UID {
	// Bit counts are below 64. The mask saves a check, because the compiler knows the bound
	// then.
	page := packed & (1<<(p.pageBits&63) - 1)
	packed >>= p.pageBits & 63
	host := packed & (1<<(p.hostBits&63) - 1)
	slot := packed>>(p.hostBits&63) + uint64(p.slot)
	return uid.UID((slot<<uid.HostBits|host)<<uid.PageBits | page)
}

// packingLen is the length of a packing in bytes: slot, host bits, page bits, zeros.
const packingLen = 8

func (p packing) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(p.slot))
	return append(dst, byte(p.hostBits), byte(p.pageBits), 0, 0, 0, 0)
}

func openPacking(b []byte) (packing, error) {
	if len(b) < packingLen {
		return packing{}, fmt.Errorf("a packing of %d bytes", len(b))
	}
	p := packing{uint(binary.LittleEndian.Uint16(b)), uint(b[2]), uint(b[3])}
	if p.slot >= uid.NumSlots || p.hostBits > uid.HostBits || p.pageBits > uid.PageBits || binary.LittleEndian.Uint32(b[4:]) != 0 {
		return packing{}, fmt.Errorf("a packing from slot %d with %d and %d bits", p.slot, p.hostBits, p.pageBits)
	}
	return p, nil
}

// fits reports whether packed is the packed form of a valid UID.
func (p packing) fits(packed uint64) bool {
	return packed>>(p.hostBits+p.pageBits) < uint64(uid.NumSlots-p.slot) && p.unpack(packed).Valid()
}

// pageIndex holds the runs of a cell's pages. Run i has packed UIDs from first[i] on,
// consecutive and of one slot, and ordinals from ordinals[i] on. If hosts have one page each,
// for example, each slot is one run.
type pageIndex struct {
	packing
	first    ef.Sequence
	ordinals ef.Sequence // one more than runs: the last is the number of pages
	pages    uint32
	table    runTable // the same runs, or empty
}

// ordinal returns the ordinal of u; ok is false if u is no page of the cell.
func (x *pageIndex) ordinal(u uid.UID) (uint32, bool) {
	packed, ok := x.pack(u)
	if !ok {
		return 0, false
	}
	if u == math.MaxUint64 { // no UID can be above it
		return x.lastOrdinal(u)
	}
	if len(x.table.runs) > 0 {
		return x.table.ordinal(u, packed)
	}
	i := x.first.Search(packed+1) - 1
	if i < 0 {
		return 0, false
	}
	begin, end := x.ordinals.Pair(i)
	if within := packed - x.first.At(i); within < end-begin {
		return uint32(begin + within), true
	}
	return 0, false
}

// lastOrdinal is ordinal for the greatest of all UIDs.
func (x *pageIndex) lastOrdinal(u uid.UID) (uint32, bool) {
	if x.pages > 0 && u == math.MaxUint64 && x.uid(x.pages-1) == u {
		return x.pages - 1, true
	}
	return 0, false
}

// uid returns the UID of an ordinal, which must be below pages.
func (x *pageIndex) uid(ord uint32) uid.UID {
	if len(x.table.runs) > 0 {
		return x.table.uid(ord)
	}
	i := x.ordinals.Search(uint64(ord)+1) - 1
	return x.unpack(x.first.At(i) + uint64(ord) - x.ordinals.At(i))
}

// putUIDs writes the UIDs of ords into dst, which must have the same length. ords must ascend.
func (x *pageIndex) putUIDs(dst []uid.UID, ords []uint32) {
	if len(x.table.runs) > 0 {
		x.table.putUIDs(dst, ords)
		return
	}
	for len(ords) > 0 {
		i := x.ordinals.Search(uint64(ords[0])+1) - 1
		begin, end := x.ordinals.Pair(i)
		first := x.first.At(i) - begin
		n := 0
		for ; n < len(ords) && uint64(ords[n]) < end; n++ {
			dst[n] = x.unpack(first + uint64(ords[n]))
		}
		dst, ords = dst[n:], ords[n:]
	}
}

// runWriter collects runs of ascending UIDs.
type runWriter struct {
	first    []uid.UID
	ordinals []uint32 // first ordinal of each run
	pages    uint32
	last     uid.UID
	maxHost  uint32
	maxPage  uint32
}

// add adds the next UID, which must be above those before it.
func (w *runWriter) add(u uid.UID) {
	if w.pages == 0 || u != w.last+1 || u.Page() == 0 {
		w.first = append(w.first, u)
		w.ordinals = append(w.ordinals, w.pages)
	}
	w.last = u
	w.pages++
	w.maxHost, w.maxPage = max(w.maxHost, u.Host()), max(w.maxPage, u.Page())
}

func (w *runWriter) appendTo(dst []byte, least uid.Slot) []byte {
	p := packingOf(least, w.maxHost, w.maxPage)
	dst = p.appendTo(dst)
	var first, ordinals ef.Builder
	// A run ends with its slot, because no page has the host number 0 of the next slot.
	next := uint64(0) // packed UID that would continue the run; 0 is no page's
	for i, u := range w.first {
		packed, _ := p.pack(u)
		if packed != next {
			first.Add(packed)
			ordinals.Add(uint64(w.ordinals[i]))
		}
		end := w.pages
		if i+1 < len(w.first) {
			end = w.ordinals[i+1]
		}
		next = packed + uint64(end-w.ordinals[i])
	}
	ordinals.Add(uint64(w.pages))
	return ordinals.AppendTo(first.AppendTo(dst))
}

// openPages opens and verifies the section: UIDs must ascend and be in the range, and there must
// be exactly pages of them.
func openPages(b []byte, pages uint32, keys uid.Range) (pageIndex, error) {
	p, err := openPacking(b)
	if err != nil {
		return pageIndex{}, err
	}
	x := pageIndex{packing: p, pages: pages}
	// 1. Open both sequences and check their lengths.
	var used, more int
	if x.first, used, err = ef.Open(b[packingLen:]); err != nil {
		return x, err
	}
	if x.ordinals, more, err = ef.Open(b[packingLen+used:]); err != nil {
		return x, err
	}
	if packingLen+used+more != len(b) || x.ordinals.Len() != x.first.Len()+1 {
		return x, fmt.Errorf("%d runs with %d ordinals, in %d bytes", x.first.Len(), x.ordinals.Len(), len(b))
	}
	if begin := x.ordinals.At(0); begin != 0 || x.ordinals.Last() != uint64(pages) {
		return x, fmt.Errorf("ordinals from %d to %d for %d pages", begin, x.ordinals.Last(), pages)
	}
	// 2. Check every run, because reads rely on the runs without a check.
	firsts, ordinals := x.first.Iterator(0), x.ordinals.Iterator(1)
	begin, least := uint64(0), uint64(0) // bounds of the next run
	for range x.first.Len() {
		first, _ := firsts.Next()
		end, _ := ordinals.Next()
		last := first + (end - begin) - 1
		// A run must stay within one slot. Only its first host number could be 0, because within
		// a slot no later one is; fits rejects that.
		if end <= begin || first < least || last < first || !x.fits(first) || x.unpack(last).Slot() != x.unpack(first).Slot() {
			return x, fmt.Errorf("a run of ordinals %d to %d cannot be", begin, end)
		}
		if !keys.Contains(x.unpack(first)) || !keys.Contains(x.unpack(last)) {
			return x, fmt.Errorf("page %s is not of %s", x.unpack(last), keys)
		}
		if begin, least = end, last+1; least == 0 && begin != uint64(pages) {
			return x, errors.New("a run behind the last UID")
		}
	}
	x.table = makeRunTable(&x)
	return x, nil
}
