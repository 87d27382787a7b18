// Row: the changes of one batch, or of several merged ones.

package delta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

var (
	// ErrCorrupt is wrapped by every error about bytes that are no row.
	ErrCorrupt = errors.New("damaged row of changed links")
	// ErrTooLarge is wrapped if a row would exceed a limit of its format.
	ErrTooLarge = errors.New("too much for one row")
	// ErrUnknownPage is wrapped if links change at a page that neither the cell nor a row has.
	// Its URL must be given with them.
	ErrUnknownPage = errors.New("a page that is not known")
	// ErrConflict is wrapped if a UID is given two URLs, or a URL two UIDs.
	ErrConflict = errors.New("a page with two names")
	// ErrRange is wrapped if a UID is outside the cell's range.
	ErrRange = errors.New("a UID outside the cell's range")
	// ErrEpoch is wrapped if a row or a cell does not follow the epoch before.
	ErrEpoch = errors.New("out of the order of epochs")
)

const (
	rowMagic     = "tfDR"
	rowVersion   = 1
	rowHeaderLen = 48
	checksumLen  = 8
)

// Row holds the changes of consecutive epochs. It is immutable and safe for concurrent use.
type Row struct {
	data  []byte
	first uint64
	last  uint64
	links [2]links // by cell.Direction
	pages pages
}

// First returns the first epoch of the row's changes.
func (r *Row) First() uint64 { return r.first }

// Last returns the last epoch of the row's changes.
func (r *Row) Last() uint64 { return r.last }

// Keys returns the number of pages with changed lists in direction d.
func (r *Row) Keys(d cell.Direction) int { return r.links[d].keys }

// Changes returns the number of added and deleted links in direction d.
func (r *Row) Changes(d cell.Direction) int64 { return r.links[d].changes }

// Pages returns the number of new pages.
func (r *Row) Pages() int { return r.pages.count }

// Bytes returns the row in the format of [Open], which is also its form in memory. The caller
// must not change it.
func (r *Row) Bytes() []byte { return r.data }

// Open returns the row in data, which must not change afterwards. It verifies the checksum and
// the whole content, because no method of a row returns an error. Its error wraps ErrCorrupt.
func Open(data []byte) (*Row, error) {
	r, err := open(data)
	if err != nil {
		return nil, fmt.Errorf("delta: open a row of %d bytes: %w: %w: get it from elsewhere, or read its changes from the triples again", len(data), ErrCorrupt, err)
	}
	return r, nil
}

func open(data []byte) (*Row, error) {
	// 1. Check the fixed fields and the checksum before any length is used.
	if len(data) < rowHeaderLen+checksumLen || string(data[:len(rowMagic)]) != rowMagic {
		return nil, errors.New("it does not begin as a row does")
	}
	if version := binary.LittleEndian.Uint32(data[4:]); version != rowVersion {
		return nil, fmt.Errorf("it is of format version %d, this program knows %d", version, rowVersion)
	}
	end := len(data) - checksumLen
	if sum := binary.LittleEndian.Uint64(data[end:]); sum != xxhash.Sum64(data[:end]) {
		return nil, fmt.Errorf("its checksum is %016x and should be %016x", xxhash.Sum64(data[:end]), sum)
	}
	r := &Row{data: data, first: binary.LittleEndian.Uint64(data[8:]), last: binary.LittleEndian.Uint64(data[16:])}
	if r.first == 0 || r.first > r.last {
		return nil, fmt.Errorf("it is of epochs %d to %d", r.first, r.last)
	}
	// 2. Split the sections. They must fill the row.
	var sections [3][]byte
	rest := data[rowHeaderLen:end]
	for i := range sections {
		length := binary.LittleEndian.Uint64(data[24+8*i:])
		if length > uint64(len(rest)) {
			return nil, fmt.Errorf("its section %d has %d bytes, %d are left", i, length, len(rest))
		}
		sections[i], rest = rest[:length:length], rest[length:]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("it has %d bytes too many", len(rest))
	}
	// 3. Verify each section, because later reads do not check.
	var err error
	for d := range r.links {
		if r.links[d], err = openLinks(sections[d]); err != nil {
			return nil, err
		}
	}
	r.pages, err = openPages(sections[2])
	return r, err
}

// rowWriter builds a row.
type rowWriter struct {
	links  [2]linksWriter
	pages  pagesWriter
	places []place // of a batch
}

var writers = sync.Pool{New: func() any { return new(rowWriter) }}

// newRowWriter returns an empty writer. It may reuse the memory of a released one.
func newRowWriter() *rowWriter { return writers.Get().(*rowWriter) }

// maxKeptRow bounds the memory of a released writer: the bytes of one direction or of pages. A
// larger one is not reused.
const maxKeptRow = 1 << 22

// release ends the use of a writer. Its rows stay valid.
func (w *rowWriter) release() {
	if max(cap(w.links[0].data), cap(w.links[1].data), cap(w.pages.data), 8*cap(w.places)) > maxKeptRow {
		return
	}
	for d := range w.links {
		l := &w.links[d]
		*l = linksWriter{keys: l.keys[:0], starts: l.starts[:0], data: l.data[:0], body: l.body[:0]}
	}
	p := &w.pages
	*p = pagesWriter{uids: p.uids[:0], starts: p.starts[:0], hashes: p.hashes[:0], data: p.data[:0], last: p.last[:0]}
	writers.Put(w)
}

// row returns the row of the written entries and pages, for the epochs from first to last.
func (w *rowWriter) row(first, last uint64) (*Row, error) {
	size := rowHeaderLen + checksumLen + len(w.pages.data) + 13*len(w.pages.uids) + 256
	for d := range w.links {
		size += len(w.links[d].data) + 3*len(w.links[d].keys) + 64
	}
	data := make([]byte, rowHeaderLen, size)
	copy(data, rowMagic)
	binary.LittleEndian.PutUint32(data[4:], rowVersion)
	binary.LittleEndian.PutUint64(data[8:], first)
	binary.LittleEndian.PutUint64(data[16:], last)
	var err error
	for i := range 3 {
		before := len(data)
		if i < len(w.links) {
			data = w.links[i].appendTo(data)
		} else if data, err = w.pages.appendTo(data); err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint64(data[24+8*i:], uint64(len(data)-before))
	}
	data = binary.LittleEndian.AppendUint64(data, xxhash.Sum64(data))
	return attach(data, first, last), nil
}

// attach returns the row in data without a check, because row has just written it.
func attach(data []byte, first, last uint64) *Row {
	r := &Row{data: data, first: first, last: last}
	at := rowHeaderLen
	section := func(i int) []byte {
		length := int(binary.LittleEndian.Uint64(data[24+8*i:]))
		at += length
		return data[at-length : at]
	}
	for d := range r.links {
		r.links[d] = splitLinks(section(d))
	}
	r.pages = splitPages(section(2))
	return r
}

// checkPage returns an error unless u may be a page of a cell of this range.
func checkPage(r uid.Range, u uid.UID) error {
	if !u.Valid() || !r.Contains(u) {
		return fmt.Errorf("delta: page %s of a cell of %s: %w", u, r, ErrRange)
	}
	return nil
}
