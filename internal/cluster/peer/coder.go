// Messages whose fields are named once, for both directions.

package peer

import (
	"cmp"
	"maps"
	"slices"
)

// A Coder writes the fields of a message, or reads them. A function names each field once, in
// the order of the bytes, so encoding and decoding cannot disagree:
//
//	func (m *mark) fields(c *peer.Coder) {
//		c.Uvarint(&m.epoch, &m.number)
//		c.Bytes(&m.key)
//	}
//
// Then Encode(0, m.fields) returns the message, and Decode(body, m.fields) fills m. The formats
// are those of [Encoder]. A Coder that writes does not store into fields, because other
// goroutines may send the same data: a function must store only if Reading.
type Coder struct {
	e *Encoder // nil if the message is read
	d *Decoder // nil if it is written
}

// Encode returns a message of the given fields, and of about capacity bytes.
func Encode(capacity int, fields func(*Coder)) []byte {
	e := NewEncoder(capacity)
	fields(e.Coder())
	return e.Data()
}

// Decode reads all of a message into the given fields. Byte strings share memory with it. The
// error wraps [ErrMessage].
func Decode(message []byte, fields func(*Coder)) error {
	d := NewDecoder(message)
	fields(d.Coder())
	return d.End()
}

// Coder returns a coder that goes on with the message.
func (e *Encoder) Coder() *Coder { return &Coder{e: e} }

// Coder returns a coder that goes on with the message.
func (d *Decoder) Coder() *Coder { return &Coder{d: d} }

// Reading reports whether the message is read.
func (c *Coder) Reading() bool { return c.d != nil }

// Encoder returns the encoder, for parts that are written by hand; nil if Reading.
func (c *Coder) Encoder() *Encoder { return c.e }

// Decoder returns the decoder, for parts that are read by hand; nil unless Reading.
func (c *Coder) Decoder() *Decoder { return c.d }

// Fail rejects the message if it is read, as [Decoder.Fail] does.
func (c *Coder) Fail(format string, args ...any) {
	if c.d != nil {
		c.d.Fail(format, args...)
	}
}

// Check rejects the message if it is read and err is an error.
func (c *Coder) Check(err error) {
	if err != nil {
		c.Fail("%w", err)
	}
}

// Uvarint codes numbers.
func (c *Coder) Uvarint(numbers ...*uint64) {
	for _, n := range numbers {
		if c.d != nil {
			*n = c.d.Uvarint()
		} else {
			c.e.Uvarint(*n)
		}
	}
}

// Bool codes bools.
func (c *Coder) Bool(bools ...*bool) {
	for _, b := range bools {
		if c.d != nil {
			*b = c.d.Bool()
		} else {
			c.e.Bool(*b)
		}
	}
}

// Flags codes up to eight bools as the bits of a byte. The first one is the lowest bit; bits
// without a bool are ignored.
func (c *Coder) Flags(bools ...*bool) {
	flags := byte(0)
	if c.d != nil {
		flags = c.d.Byte()
	}
	for i, b := range bools {
		if c.d != nil {
			*b = flags>>i&1 != 0
		} else if *b {
			flags |= 1 << i
		}
	}
	if c.e != nil {
		c.e.Byte(flags)
	}
}

// Bytes codes byte strings.
func (c *Coder) Bytes(list ...*[]byte) {
	for _, b := range list {
		if c.d != nil {
			*b = c.d.Bytes()
		} else {
			c.e.Bytes(*b)
		}
	}
}

// String codes strings.
func (c *Coder) String(list ...*string) {
	for _, s := range list {
		if c.d != nil {
			*s = c.d.String()
		} else {
			c.e.String(*s)
		}
	}
}

// Byte codes b.
func Byte[T ~byte](c *Coder, b *T) {
	if c.d != nil {
		*b = T(c.d.Byte())
	} else {
		c.e.Byte(byte(*b))
	}
}

// Uint64 codes n.
func Uint64[T ~uint64](c *Coder, n *T) {
	if c.d != nil {
		*n = T(c.d.Uint64())
	} else {
		c.e.Uint64(uint64(*n))
	}
}

// Number codes n as a Uvarint. If it is above limit, it is read as limit.
func Number[T ~int | ~int64 | ~uint64](c *Coder, n *T, limit T) {
	if c.d != nil {
		*n = T(min(c.d.Uvarint(), uint64(limit)))
	} else {
		c.e.Uvarint(uint64(*n))
	}
}

// List codes the length of a list and the fields of each element, which take size bytes or more
// (size > 0). A list that is empty or malformed is read as nil. Its memory grows with the bytes
// read, and reading ends when fields calls Fail.
func List[T any](c *Coder, list *[]T, size int, fields func(element *T, c *Coder)) {
	if c.e != nil {
		c.e.Uvarint(uint64(len(*list)))
		for i := range *list {
			fields(&(*list)[i], c)
		}
		return
	}
	*list = nil
	n := c.d.Count(size)
	all := make([]T, 0, min(n, 1<<10))
	for i := range n {
		all = append(all, *new(T))
		if fields(&all[i], c); c.d.err != nil {
			return
		}
	}
	if n > 0 {
		*list = all
	}
}

// Map codes a map like a list, by ascending key. An empty map is read as nil.
func Map[K cmp.Ordered, V any](c *Coder, m *map[K]V, size int, fields func(key *K, value *V, c *Coder)) {
	var k K
	var v V
	if c.e != nil {
		c.e.Uvarint(uint64(len(*m)))
		for _, k = range slices.Sorted(maps.Keys(*m)) {
			v = (*m)[k]
			fields(&k, &v, c)
		}
		return
	}
	*m = nil
	for n := c.d.Count(size); n > 0 && c.d.err == nil; n-- {
		if fields(&k, &v, c); *m == nil {
			*m = map[K]V{}
		}
		(*m)[k] = v
	}
}
