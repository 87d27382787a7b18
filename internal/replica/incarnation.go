// The incarnation: a number for each start of the process.

package replica

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/trefoildb/trefoil/internal/store/fault"
)

// chanceBits is the number of random low bits of an incarnation; the bits above count the starts.
// The random bits are needed because a disk may come back in an older state. The next process then
// counts the same start, and must still differ from the earlier one.
const chanceBits = 24

// NextIncarnation counts a start of the process, durably, and returns its number. The number is
// greater than those of all earlier starts on this disk. If a copy of the disk is started too, the
// two numbers are equal with a chance of one in 16 million.
func (s *Store) NextIncarnation() (uint64, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	n, err := s.db.Number(rowIncarnation)
	if err == nil {
		n = (n>>chanceBits+1)<<chanceBits | rand.Uint64N(1<<chanceBits)
		err = s.db.SetLocal(rowIncarnation, binary.AppendUvarint(nil, n))
	}
	if err != nil {
		return 0, fault.Wrap("next incarnation", err)
	}
	return n, nil
}
