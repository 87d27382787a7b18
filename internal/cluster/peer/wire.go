// Binary messages: the values in bodies and frames.

package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// An Encoder appends values to a message. The zero value is an empty message.
//
//	Uvarint  1 to 10 bytes, as encoding/binary has it
//	Uint64   8 bytes, big-endian
//	Byte     1 byte
//	Bool     1 byte, 0 or 1
//	Bytes    Uvarint of the length, then the bytes
//	String   as Bytes
type Encoder struct{ data []byte }

// NewEncoder returns an encoder with room for capacity bytes.
func NewEncoder(capacity int) *Encoder { return &Encoder{make([]byte, 0, capacity)} }

// Uvarint appends n.
func (e *Encoder) Uvarint(n uint64) { e.data = binary.AppendUvarint(e.data, n) }

// Uint64 appends n.
func (e *Encoder) Uint64(n uint64) { e.data = binary.BigEndian.AppendUint64(e.data, n) }

// Byte appends b.
func (e *Encoder) Byte(b byte) { e.data = append(e.data, b) }

// Bool appends b.
func (e *Encoder) Bool(b bool) {
	if b {
		e.Byte(1)
	} else {
		e.Byte(0)
	}
}

// Bytes appends b, which it copies.
func (e *Encoder) Bytes(b []byte) {
	e.Uvarint(uint64(len(b)))
	e.data = append(e.data, b...)
}

// String appends s.
func (e *Encoder) String(s string) {
	e.Uvarint(uint64(len(s)))
	e.data = append(e.data, s...)
}

// Len returns the length of the message, in bytes.
func (e *Encoder) Len() int { return len(e.data) }

// Data returns the message, which shares memory with the encoder.
func (e *Encoder) Data() []byte { return e.data }

// Reset makes the message empty and keeps its memory.
func (e *Encoder) Reset() { e.data = e.data[:0] }

// ErrMessage is wrapped by the errors of a [Decoder].
var ErrMessage = errors.New("peer: malformed message")

// A Decoder reads the output of an [Encoder]. After the first error all values are zero. It
// allocates nothing except errors and the results of String.
type Decoder struct {
	data []byte
	at   int
	err  error
}

// NewDecoder returns a decoder of data. data must not change while results of Bytes are in use.
func NewDecoder(data []byte) *Decoder { return &Decoder{data: data} }

// Fail rejects the message with an error that has the byte reached, unless there is an error.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %w at byte %d of %d", ErrMessage, fmt.Errorf(format, args...), d.at, len(d.data))
	}
}

// take returns the next n bytes.
func (d *Decoder) take(n uint64, what string) []byte {
	if d.err != nil {
		return nil
	}
	if n > uint64(len(d.data)-d.at) {
		d.Fail("%s ends early", what)
		return nil
	}
	b := d.data[d.at : d.at+int(n) : d.at+int(n)]
	d.at += int(n)
	return b
}

// Uvarint returns the next value.
func (d *Decoder) Uvarint() uint64 {
	if d.at < len(d.data) && d.data[d.at] < 0x80 && d.err == nil { // as most are
		d.at++
		return uint64(d.data[d.at-1])
	}
	if d.err != nil {
		return 0
	}
	n, size := binary.Uvarint(d.data[d.at:])
	if size <= 0 {
		d.Fail("an integer ends early or is too great")
		return 0
	}
	d.at += size
	return n
}

// Uint64 returns the next value.
func (d *Decoder) Uint64() uint64 {
	b := d.take(8, "an integer")
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// Byte returns the next value.
func (d *Decoder) Byte() byte {
	b := d.take(1, "a byte")
	if b == nil {
		return 0
	}
	return b[0]
}

// Bool returns the next value.
func (d *Decoder) Bool() bool {
	switch d.Byte() {
	case 0:
		return false
	case 1:
		return true
	}
	d.at--
	d.Fail("a bool that is neither 0 nor 1")
	return false
}

// Bytes returns the next value, which shares memory with the message.
func (d *Decoder) Bytes() []byte { return d.take(d.Uvarint(), "a byte string") }

// String returns the next value.
func (d *Decoder) String() string { return string(d.Bytes()) }

// Count returns the next value, a Uvarint, as a number of elements. The elements follow and take
// size bytes or more each (size > 0). The number is never more than the message has room for,
// because callers make a slice of this length.
func (d *Decoder) Count(size int) int {
	n := d.Uvarint()
	if d.err == nil && n > uint64((len(d.data)-d.at)/size) {
		d.Fail("%d elements are claimed: the message ends early", n)
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

// Rest returns the rest of the message; it shares memory with it.
func (d *Decoder) Rest() []byte { return d.take(uint64(len(d.data)-d.at), "the rest") }

// HasMore reports whether the message goes on: false after an error.
func (d *Decoder) HasMore() bool { return d.err == nil && d.at < len(d.data) }

// Err returns the first error.
func (d *Decoder) Err() error { return d.err }

// End returns the first error, or one if the message goes on.
func (d *Decoder) End() error {
	if d.HasMore() {
		d.Fail("the message goes on")
	}
	return d.err
}
