// The scores of one partition after a round, and their encoding.

package rank

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
)

// The errors of an encoding. Test with errors.Is.
var (
	// ErrCorrupt is wrapped by [OpenState] if the bytes are damaged.
	ErrCorrupt = errors.New("corrupt")
	// ErrVersion is wrapped instead if the encoding has another version.
	ErrVersion = errors.New("unknown format version")
)

// State is the scores of one partition after a round.
type State struct {
	Graph      uint64 // identifies the graph; 0 if it is not known
	Partition  uint32
	Partitions uint32 // of the machine
	Pages      uint64 // of these partitions
	Round      int
	Change     float64 // of the scores of all machines in this round; infinite if it is not known
	Damping    float64
	Scores     []float64 // by page of this partition
}

// MaxScore bounds the scores of states. A score is at most 1, but for rounding.
const MaxScore = 2

const (
	stateMagic   = "tfPK"
	stateVersion = 1
	stateHeadLen = 64
	sumLen       = 8
)

// AppendTo appends the state's encoding, as drawn in the package comment.
func (s *State) AppendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, stateMagic...)
	dst = append(dst, stateVersion, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, s.Graph)
	dst = binary.LittleEndian.AppendUint32(dst, s.Partition)
	dst = binary.LittleEndian.AppendUint32(dst, s.Partitions)
	dst = binary.LittleEndian.AppendUint64(dst, s.Pages)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.Round))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.Change))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.Damping))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(s.Scores)))
	for _, score := range s.Scores {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(score))
	}
	return binary.LittleEndian.AppendUint64(dst, xxhash.Sum64(dst[start:]))
}

// OpenState decodes a state. b must be exactly one encoding. OpenState keeps nothing of b and
// allocates no more than len(b). Errors wrap [ErrCorrupt] or [ErrVersion].
func OpenState(b []byte) (*State, error) {
	s, err := openState(b)
	if err != nil {
		return nil, fmt.Errorf("rank: open the state of a PageRank of %d bytes: %w", len(b), err)
	}
	return s, nil
}

func openState(b []byte) (*State, error) {
	// 1. Check the magic and the version first, because another version may have another
	// checksum.
	if len(b) < stateHeadLen+sumLen || string(b[:len(stateMagic)]) != stateMagic {
		return nil, fmt.Errorf("byte 0: it is too short, or does not begin with %q: %w", stateMagic, ErrCorrupt)
	}
	if b[len(stateMagic)] != stateVersion {
		return nil, fmt.Errorf("byte %d: %w %d, this program knows %d", len(stateMagic), ErrVersion, b[len(stateMagic)], stateVersion)
	}
	// 2. Check the checksum. If it is right, a wrong field below was written wrongly.
	body := b[:len(b)-sumLen]
	if binary.LittleEndian.Uint64(b[len(body):]) != xxhash.Sum64(body) {
		return nil, fmt.Errorf("byte %d: the checksum is not that of the bytes before it: %w", len(body), ErrCorrupt)
	}
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	s := &State{
		Graph:      number(8),
		Partition:  binary.LittleEndian.Uint32(b[16:]),
		Partitions: binary.LittleEndian.Uint32(b[20:]),
		Pages:      number(24),
		Round:      int(number(32)),
		Change:     math.Float64frombits(number(40)),
		Damping:    math.Float64frombits(number(48)),
	}
	// 3. Check every field. The count of scores must match the bytes before anything is
	// allocated.
	scores := body[stateHeadLen:]
	switch {
	case b[5]|b[6]|b[7] != 0:
		return nil, fmt.Errorf("bytes 5 to 7 are not 0: %w", ErrCorrupt)
	case s.Partition >= s.Partitions:
		return nil, fmt.Errorf("byte 16: partition %d of %d: %w", s.Partition, s.Partitions, ErrCorrupt)
	case number(56) > s.Pages || number(56) != uint64(len(scores))/8 || len(scores)%8 != 0:
		return nil, fmt.Errorf("byte 56: %d scores of %d pages in %d bytes: %w", number(56), s.Pages, len(scores), ErrCorrupt)
	case number(32) == 0 || number(32) > math.MaxInt32:
		return nil, fmt.Errorf("byte 32: round %d: %w", number(32), ErrCorrupt)
	case !(s.Change >= 0) || !(s.Damping > 0 && s.Damping < 1):
		return nil, fmt.Errorf("byte 40: change %v, damping %v: %w", s.Change, s.Damping, ErrCorrupt)
	}
	s.Scores = make([]float64, len(scores)/8)
	for i := range s.Scores {
		s.Scores[i] = math.Float64frombits(binary.LittleEndian.Uint64(scores[8*i:]))
		if !(s.Scores[i] >= 0 && s.Scores[i] <= MaxScore) {
			return nil, fmt.Errorf("byte %d: the score of page %d is %v: %w", stateHeadLen+8*i, i, s.Scores[i], ErrCorrupt)
		}
	}
	return s, nil
}
