// This file holds the vocabulary: codecs, options, errors.

package lists

import (
	"errors"
	"fmt"
)

// Codec says how the numbers of lists become bytes.
type Codec byte

const (
	// StreamVByte is the default: numbers of four lengths that suit the table, four
	// decoded at a time. It is the fastest.
	StreamVByte Codec = 1
	// Nybble is the coding of the Scalable Hyperlink Store, for comparison.
	Nybble Codec = 2
	// Reference is StreamVByte where a list may copy from one of the seven before it.
	// It is the smallest, and reads a few times as slowly.
	Reference Codec = 3
)

func (c Codec) String() string {
	switch c {
	case StreamVByte:
		return "streamvbyte"
	case Nybble:
		return "nybble"
	case Reference:
		return "reference"
	case Auto:
		return "auto"
	}
	return fmt.Sprintf("codec %d", byte(c))
}

// MaxStride is the greatest stride of positions.
const MaxStride = 1 << 10

// Options of a table. The zero value is the best for a cell that is read a lot.
type Options struct {
	// Codec is StreamVByte where it is 0, and chosen where it is Auto.
	Codec Codec
	// Stride is how many lists have one position together: reading one of them
	// goes over those before it. 0 is 1, the fastest; at most MaxStride, and 1 for
	// Reference.
	Stride int
	// LocalOnly says that no list has ghosts. It saves a nybble a list in Nybble.
	LocalOnly bool
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if o.Codec != 0 && o.Codec != Auto && codecOf(o.Codec) == nil {
		return fmt.Errorf("lists: %v is unknown: use one of the package's constants", o.Codec)
	}
	if o.Stride < 0 || o.Stride > MaxStride {
		return fmt.Errorf("lists: stride %d: use 0 ... %d", o.Stride, MaxStride)
	}
	if o.Codec == Reference && o.Stride > 1 {
		return fmt.Errorf("lists: stride %d: use 1 for %v", o.Stride, o.Codec)
	}
	return nil
}

var (
	// ErrCorrupt says that bytes are not a table, or are a damaged one.
	ErrCorrupt = errors.New("lists: damaged table of links")
	// ErrVersion says that a table is of a newer format or codec than this code.
	ErrVersion = errors.New("lists: table of links of an unknown version or codec")
	// ErrOrder says that a list to be built does not ascend strictly, or names a
	// local target that is not there.
	ErrOrder = errors.New("lists: targets out of order or range")
	// ErrTooLarge says that a list or table has more than its format can count.
	ErrTooLarge = errors.New("lists: too many targets or keys")
)

// codec is what a [Codec] stands for. A pos is the codec's own unit.
type codec interface {
	// encoder returns an empty encoder.
	encoder(localOnly bool) encoder
	// limit returns the greatest position in data, which is the codec's part of a
	// table, or false where data cannot be that.
	limit(data []byte) (uint64, bool)
	// degrees returns the numbers of targets of the list at pos.
	degrees(t *Table, pos uint64) (locals, ghosts uint32, ok bool)
	// skip returns where the list behind the one at pos begins.
	skip(t *Table, pos uint64) (next uint64, ok bool)
	// decode appends the targets of key's list, at pos.
	decode(t *Table, key uint32, pos uint64, locals, ghosts []uint32) (l, g []uint32, ok bool)
	// scan sets s.locals and s.ghosts to the list of key at s.pos, or to its first
	// piece, and s.pos and s.rest to what follows.
	scan(s *Scanner, key uint32) (ok bool)
	// more sets s.locals and s.ghosts to the next piece of a list that s.rest tells of.
	more(s *Scanner, key uint32) (ok bool)
}

// encoder makes the lists' part of a table.
type encoder interface {
	// sample tells of a list that will be appended: one of the first.
	sample(key uint32, locals, ghosts []uint32)
	// begin ends the sample and returns what the lengths of numbers are, if that
	// means anything; again the same later.
	begin() lengths
	// append appends the list of a key: checked, ascending targets.
	append(key uint32, locals, ghosts []uint32)
	// position is where the next list begins.
	position() uint64
	// size is the bytes of the lists so far, about.
	size() uint64
	// appendTo appends the lists' part of the table.
	appendTo(dst []byte) []byte
}

func codecOf(c Codec) codec {
	switch c {
	case StreamVByte:
		return streamVByte{}
	case Nybble:
		return nybble{}
	case Reference:
		return reference{}
	}
	return nil
}

// zigzag is target - key, of 32 bits that wrap, with its sign in the lowest bit.
func zigzag(target, key uint32) uint32 {
	d := target - key
	return d<<1 ^ uint32(int32(d)>>31)
}

// unzigzag is the target of zigzag.
func unzigzag(z, key uint32) uint32 { return key + (z>>1 ^ -(z & 1)) }
