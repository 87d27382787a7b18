// Container of a cell: header, table of sections, checksums.

package cell

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

var (
	// ErrCorrupt is wrapped by every error about bytes that are no cell.
	ErrCorrupt = errors.New("damaged cell")
	// ErrVersion is wrapped instead if a newer program wrote the cell.
	ErrVersion = errors.New("unknown format version of a cell")
)

// The sections of a cell, in the order of the format.
const (
	sectionPages = iota
	sectionURLs
	sectionForward
	sectionBackward
	sectionForwardGhosts
	sectionBackwardGhosts
	sectionLabels
	sectionSketches
	numSections
)

var sectionNames = [numSections]string{
	"page numbers", "URLs", "forward lists", "backward lists", "forward ghosts", "backward ghosts", "labels", "sketches",
}

const (
	magic         = "tfCL"
	formatVersion = 3

	sectionTable = 64 // offset of the table of sections
	sectionEntry = 24
	lengthAt     = sectionTable + numSections*sectionEntry
	checksumAt   = lengthAt + 8
	headerLen    = checksumAt + 8
	maxMeta      = 1 << 20
	knownFlags   = 0
)

// header is the decoded header of a cell.
type header struct {
	codec     [2]lists.Codec // by Direction
	pages     uint32
	keys      uid.Range
	epoch     uint64
	links     [2]uint64 // by Direction
	maxDegree [2]uint32
	meta      []byte
	sections  [numSections][]byte
}

// codecByte returns the byte of the codecs: the lower half is the forward lists' codec. The
// upper half is the backward lists' codec, or 0 if it is the same.
func codecByte(c [2]lists.Codec) byte {
	if c[Backward] == c[Forward] {
		return byte(c[Forward])
	}
	return byte(c[Forward]) | byte(c[Backward])<<4
}

func codecsOf(b byte) [2]lists.Codec {
	if b>>4 == 0 {
		return [2]lists.Codec{lists.Codec(b), lists.Codec(b)}
	}
	return [2]lists.Codec{lists.Codec(b & 15), lists.Codec(b >> 4)}
}

func roundUp8(n int) int { return (n + 7) &^ 7 }

// seal writes the header into data. ends[i] is the end of section i; the section begins at the
// end of the one before. The first one begins at the end of the metadata.
func (h *header) seal(data []byte, ends [numSections]int, lengths [numSections]int) {
	le := binary.LittleEndian
	copy(data, magic)
	data[4], data[5], data[6], data[7] = formatVersion, codecByte(h.codec), knownFlags, 0
	le.PutUint64(data[8:], uint64(h.keys.First))
	le.PutUint64(data[16:], uint64(h.keys.Last))
	le.PutUint64(data[24:], h.epoch)
	le.PutUint32(data[32:], h.pages)
	le.PutUint32(data[36:], uint32(len(h.meta)))
	for d := range 2 {
		le.PutUint64(data[40+8*d:], h.links[d])
		le.PutUint32(data[56+4*d:], h.maxDegree[d])
	}
	// The sections must be complete before the checksum of the header, because it covers their
	// checksums.
	metaEnd := headerLen + roundUp8(len(h.meta))
	copy(data[headerLen:], h.meta)
	start := metaEnd
	for i, end := range ends {
		entry := data[sectionTable+sectionEntry*i:]
		le.PutUint64(entry, uint64(start))
		le.PutUint64(entry[8:], uint64(lengths[i]))
		le.PutUint64(entry[16:], xxhash.Sum64(data[start:end]))
		start = end
	}
	le.PutUint64(data[lengthAt:], uint64(len(data)))
	le.PutUint64(data[checksumAt:], headerChecksum(data, metaEnd))
}

// headerChecksum returns the checksum of all bytes before the first section, except the checksum
// itself.
func headerChecksum(data []byte, metaEnd int) uint64 {
	var sum xxhash.Digest
	sum.Reset()
	sum.Write(data[:checksumAt])
	sum.Write(data[headerLen:metaEnd])
	return sum.Sum64()
}

// parseHeader decodes and checks the header of a cell and the offsets of its sections. If verify
// is set, it compares the sections' checksums, too.
func parseHeader(data []byte, verify bool) (*header, error) {
	le := binary.LittleEndian
	// 1. Check the fixed fields and the header's checksum before any of its numbers is used.
	if len(data) < headerLen || string(data[:len(magic)]) != magic {
		return nil, errors.New("it does not begin as a cell does")
	}
	if data[4] != formatVersion {
		return nil, fmt.Errorf("%w %d, this program knows %d", ErrVersion, data[4], formatVersion)
	}
	if length := le.Uint64(data[lengthAt:]); length != uint64(len(data)) {
		return nil, fmt.Errorf("it says that it has %d bytes", length)
	}
	metaLen := le.Uint32(data[36:])
	metaEnd := headerLen + roundUp8(int(metaLen))
	if metaLen > maxMeta || metaEnd > len(data) {
		return nil, fmt.Errorf("it has %d bytes of metadata", metaLen)
	}
	if sum := le.Uint64(data[checksumAt:]); sum != headerChecksum(data, metaEnd) {
		return nil, fmt.Errorf("the checksum of its header is %016x and should be %016x", headerChecksum(data, metaEnd), sum)
	}
	// 2. Decode the counts. Memory for pages is allocated later, so they must not exceed the
	// bytes.
	h := &header{
		codec: codecsOf(data[5]),
		pages: le.Uint32(data[32:]),
		keys:  uid.Range{First: uid.UID(le.Uint64(data[8:])), Last: uid.UID(le.Uint64(data[16:]))},
		epoch: le.Uint64(data[24:]),
		meta:  data[headerLen : headerLen+int(metaLen) : headerLen+int(metaLen)],
	}
	// A page has some bytes in several sections.
	if uint64(h.pages) > uint64(len(data)) {
		return nil, fmt.Errorf("it says that it has %d pages", h.pages)
	}
	if data[6] != knownFlags || data[7] != 0 {
		return nil, fmt.Errorf("unknown flags %d, %d", data[6], data[7])
	}
	for d := range 2 {
		h.links[d], h.maxDegree[d] = le.Uint64(data[40+8*d:]), le.Uint32(data[56+4*d:])
	}
	// 3. Check the sections. Each must begin at the end of the one before, and the last one must
	// end the cell.
	at := metaEnd
	for i := range h.sections {
		entry := data[sectionTable+sectionEntry*i:]
		start, length := le.Uint64(entry), le.Uint64(entry[8:])
		if start != uint64(at) || length > uint64(len(data)-at) || roundUp8(int(length)) > len(data)-at {
			return nil, fmt.Errorf("its %s are at byte %d, %d bytes, and cannot be", sectionNames[i], start, length)
		}
		end := at + roundUp8(int(length))
		if sum := le.Uint64(entry[16:]); verify && sum != xxhash.Sum64(data[at:end]) {
			return nil, fmt.Errorf("the checksum of its %s is %016x and should be %016x", sectionNames[i], xxhash.Sum64(data[at:end]), sum)
		}
		h.sections[i] = data[at : at+int(length) : at+int(length)]
		at = end
	}
	if at != len(data) {
		return nil, fmt.Errorf("%d bytes behind its last section", len(data)-at)
	}
	return h, nil
}
