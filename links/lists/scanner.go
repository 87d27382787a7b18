// Scanner: the lists of a range of keys, in order.

package lists

// PieceLen is the most targets that a [Scanner] returns at once.
const PieceLen = 4096

// Scanner goes through the lists of a range of keys, in their order. Use:
//
//	s := t.Scan(0, t.Len())
//	for s.Next() {
//		... s.Key(), s.Locals(), s.Ghosts()
//	}
//	if err := s.Err(); err != nil ...
//
// A scanner has a buffer of PieceLen targets, 16 KB, and a quarter of a megabyte more for
// Reference. It is not safe for concurrent use; several of one table are.
type Scanner struct {
	t              *Table
	key, next, end uint32
	pos            uint64 // of the next list
	locals, ghosts []uint32
	rest           rest     // of the current list
	copying        *copying // of Reference
	err            error
	buf            [PieceLen + copyLen]uint32
}

// rest is the unread part of a long list.
type rest struct {
	locals, ghosts uint32
	control        uint64 // offset of its next control byte in the table's data
	data           uint64 // offset of its next number, in nybbles
	layout         *layout
	last           uint64 // last returned target + 1, or a codec's start value
}

// Scan returns a scanner of the keys first ... end-1. end may be beyond Len.
func (t *Table) Scan(first, end uint32) *Scanner {
	s := new(Scanner)
	s.Reset(t, first, end)
	return s
}

// Reset sets the scanner before first, like [Table.Scan], and keeps its memory.
func (s *Scanner) Reset(t *Table, first, end uint32) {
	end = min(end, t.n)
	first = min(first, end)
	s.t, s.key, s.next, s.end = t, 0, first, end
	s.locals, s.ghosts, s.rest, s.err, s.pos = nil, nil, rest{}, nil, 0
	if first == end {
		return
	}
	var ok bool
	if s.pos, ok = t.position(first); !ok {
		s.fail(first)
		return
	}
	if t.codec == Reference {
		if s.copying == nil {
			s.copying = new(copying)
		}
		s.copying.past.reset()
	}
}

// Next moves to the next list. If a list has more than PieceLen targets, it moves to the next
// piece, and the key stays the same. It returns false after the last list, or if the table is
// damaged: see Err.
func (s *Scanner) Next() bool {
	if s.rest.locals|s.rest.ghosts == 0 {
		if s.next >= s.end {
			s.locals, s.ghosts = nil, nil
			return false
		}
		s.key = s.next
		s.next++
	}
	if s.t.coder.scan(s, s.key) {
		return true
	}
	s.fail(s.key)
	return false
}

func (s *Scanner) fail(key uint32) {
	s.locals, s.ghosts, s.rest = nil, nil, rest{}
	s.next = s.end
	s.err = s.t.damaged(key)
}

// Key returns the key of the current list.
func (s *Scanner) Key() uint32 { return s.key }

// Locals returns the local targets of the current list or piece. They are valid until the next
// call of Next.
func (s *Scanner) Locals() []uint32 { return s.locals }

// Ghosts returns the ghosts of the current list or piece. They are valid until the next call of
// Next. They come after all local targets of their list.
func (s *Scanner) Ghosts() []uint32 { return s.ghosts }

// Err returns the error that ended the scan early, or nil. It wraps [ErrCorrupt].
func (s *Scanner) Err() error { return s.err }
