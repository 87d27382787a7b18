// This file reads the lists of a range of keys in order.

package lists

// PieceLen is how many targets a [Scanner] gives at once, at most.
const PieceLen = 4096

// Scanner goes through the lists of a range of keys, in their order. Use:
//
//	s := t.Scan(0, t.Len())
//	for s.Next() {
//		... s.Key(), s.Locals(), s.Ghosts()
//	}
//	if err := s.Err(); err != nil ...
//
// A scanner has a buffer of PieceLen targets, 16 KB, and half a megabyte more for
// Reference. It is not safe for concurrent use; several of one table are.
type Scanner struct {
	t              *Table
	key, next, end uint32
	pos            uint64 // of the next list
	locals, ghosts []uint32
	rest           rest // of the current list
	words          nybbles
	history        *history // of Reference
	err            error
	buf            [PieceLen + slack]uint32
}

// rest is what is left of a long list.
type rest struct {
	locals, ghosts uint32
	control        uint64 // where its control bytes go on in the table's data
	data           uint64 // where its numbers do, in nybbles
	layout         *layout
	last           uint64 // the last target given plus 1, or what stands for it
}

// Scan returns a scanner of the keys first ... end-1; end may be beyond Len.
func (t *Table) Scan(first, end uint32) *Scanner {
	s := new(Scanner)
	s.Reset(t, first, end)
	return s
}

// Reset sets the scanner before first, as [Table.Scan] does, and keeps its memory.
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
	switch t.codec {
	case Nybble:
		s.words.seek(t.data, s.pos)
	case Reference:
		if s.history == nil {
			s.history = new(history)
		}
		s.history.reset()
	}
}

// Next goes to the next list, or to the next piece of one of more than PieceLen
// targets, which has the same key. It returns false after the last, and where
// the table is damaged: see Err.
func (s *Scanner) Next() bool {
	if s.rest.locals|s.rest.ghosts != 0 {
		if s.t.coder.more(s, s.key) {
			return true
		}
		s.fail(s.key)
		return false
	}
	if s.next >= s.end {
		s.locals, s.ghosts = nil, nil
		return false
	}
	s.key = s.next
	s.next++
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

// Locals returns the local targets of the current list or piece, valid until the
// next call of Next.
func (s *Scanner) Locals() []uint32 { return s.locals }

// Ghosts returns the ghost targets of the current list or piece, valid until the
// next call of Next. They come after all local targets of their list.
func (s *Scanner) Ghosts() []uint32 { return s.ghosts }

// Err returns what ended the scan early: it wraps [ErrCorrupt].
func (s *Scanner) Err() error { return s.err }
