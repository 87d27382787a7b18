// Codecs, options and errors of a table, and the two interfaces of a codec.

package lists

import (
	"errors"
	"fmt"
)

// Codec is the coding of the lists' numbers.
type Codec byte

const (
	// StreamVByte is the default and the fastest: numbers of four lengths chosen for the table,
	// decoded four at a time.
	StreamVByte Codec = 1
	// Reference has lists that may copy from one of the 31 before them. It is the smallest, and
	// half the size of StreamVByte or less on crawls. A read takes two to three times as long.
	Reference Codec = 4
)

func (c Codec) String() string {
	switch c {
	case StreamVByte:
		return "streamvbyte"
	case Reference:
		return "reference"
	case Auto:
		return "auto"
	}
	return fmt.Sprintf("codec %d", byte(c))
}

// Options of a table. The zero value suits cells that are read often.
type Options struct {
	// Codec is the codec of the lists. 0 is StreamVByte; Auto lets the builder choose.
	Codec Codec
}

// Validate returns an error if an option is invalid.
func (o Options) Validate() error {
	if o.Codec != 0 && o.Codec != Auto && decoderOf(o.Codec) == nil {
		return fmt.Errorf("lists: %v is unknown: use one of the package's constants", o.Codec)
	}
	return nil
}

var (
	// ErrCorrupt is wrapped if bytes are not a table or a damaged one.
	ErrCorrupt = errors.New("lists: damaged table of links")
	// ErrVersion is wrapped if a table has a newer format or codec than this code.
	ErrVersion = errors.New("lists: table of links of an unknown version or codec")
	// ErrOrder is wrapped if a list to be built does not ascend strictly, or if its local target
	// is not a key.
	ErrOrder = errors.New("lists: targets out of order or range")
	// ErrTooLarge is wrapped if a list or table exceeds a limit of its format.
	ErrTooLarge = errors.New("lists: too many targets or keys")
)

// decoder reads the lists of a [Codec]. The unit of a pos depends on the codec.
type decoder interface {
	// limit returns the greatest position in data, the codec's part of a table. It returns false
	// if data cannot be that part.
	limit(data []byte) (uint64, bool)
	// degrees returns the numbers of targets of the list at pos.
	degrees(t *Table, pos uint64) (locals, ghosts uint32, ok bool)
	// decode appends the targets of key's list, at pos.
	decode(t *Table, key uint32, pos uint64, locals, ghosts []uint32) (l, g []uint32, ok bool)
	// scan sets s.locals and s.ghosts to the next piece of key's list: of the rest in s.rest, or
	// else of the list at s.pos. It advances s.pos, and sets s.rest to the rest of a long list.
	scan(s *Scanner, key uint32) (ok bool)
}

// encoder writes the lists' part of a table.
type encoder interface {
	// begin chooses the lengths of numbers, if the codec has any, by the first lists. They will
	// be appended later. It must be the first call.
	begin(first eachList) lengths
	// append appends the list of a key. Targets must ascend; the builder has checked that.
	append(key uint32, locals, ghosts []uint32)
	// positions returns the position of each list, and of the end.
	positions() []uint64
	// size returns the approximate length of the lists so far, in bytes.
	size() uint64
	// appendTo appends the lists' part of the table.
	appendTo(dst []byte) []byte
}

// eachList calls do for lists, in the order of their keys.
type eachList func(do func(key uint32, locals, ghosts []uint32))

// decoderOf returns the decoder of a codec; nil if it is unknown.
func decoderOf(c Codec) decoder {
	switch c {
	case StreamVByte:
		return streamVByte{}
	case Reference:
		return reference{}
	}
	return nil
}

// newEncoder returns an empty encoder of a known codec.
func newEncoder(c Codec) encoder {
	if c == Reference {
		return new(refEncoder)
	}
	return new(svbEncoder)
}

// zigzag returns target - key in 32 bits, modulo 2^32, with the sign in the lowest bit.
func zigzag(target, key uint32) uint32 {
	d := target - key
	return d<<1 ^ uint32(int32(d)>>31)
}

// unzigzag returns the target of zigzag.
func unzigzag(z, key uint32) uint32 { return key + (z>>1 ^ -(z & 1)) }
