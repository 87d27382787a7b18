// Tests of the encoding.

package peer

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func encodeAll() []byte {
	e := NewEncoder(8)
	e.Uvarint(0)
	e.Uvarint(math.MaxUint64)
	e.Uint64(0xa1b2c3d4e5f60718)
	e.Byte(7)
	e.Bool(true)
	e.Bool(false)
	e.Bytes([]byte{0, 255})
	e.Bytes(nil)
	e.String("héllo")
	e.Uvarint(2)
	e.Bool(true)
	e.Bool(true)
	return e.Data()
}

func decodeAll(data []byte) (same bool, err error) {
	d := NewDecoder(data)
	same = d.Uvarint() == 0 && d.Uvarint() == math.MaxUint64 && d.Uint64() == 0xa1b2c3d4e5f60718 &&
		d.Byte() == 7 && d.Bool() && !d.Bool() && bytes.Equal(d.Bytes(), []byte{0, 255}) && len(d.Bytes()) == 0 &&
		d.String() == "héllo" && d.Count(1) == 2 && d.Bool() && d.Bool()
	return same, d.End()
}

func TestWire(t *testing.T) {
	data := encodeAll()
	if same, err := decodeAll(data); !same || err != nil {
		t.Errorf("came back the same: %v, %v", same, err)
	}
	for n := range len(data) {
		if same, err := decodeAll(data[:n]); same || !errors.Is(err, ErrMessage) {
			t.Errorf("the first %d of %d bytes: %v, %v", n, len(data), same, err)
		}
	}
	if same, err := decodeAll(append(data, 0)); !same || !errors.Is(err, ErrMessage) {
		t.Errorf("one byte more: %v, %v", same, err)
	}
	e := NewEncoder(0)
	e.String("x")
	e.Reset()
	if e.Bool(true); e.Len() != 1 {
		t.Errorf("after Reset: %d bytes", e.Len())
	}
}

func TestDecoderErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		data string
		read func(*Decoder)
	}{
		"bool of 2":             {"\x02", func(d *Decoder) { d.Bool() }},
		"length above the rest": {"\x05abcd", func(d *Decoder) { d.Bytes() }},
		"length of 2^64-1":      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", func(d *Decoder) { _ = d.String() }},
		"uvarint of 70 bits":    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", func(d *Decoder) { d.Uvarint() }},
		"count above the rest":  {"\x02123456789012345", func(d *Decoder) { d.Count(8) }},
		"count of 2^64-1":       {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", func(d *Decoder) { d.Count(1) }},
	} {
		d := NewDecoder([]byte(tt.data))
		tt.read(d)
		first := d.Err()
		if !errors.Is(first, ErrMessage) {
			t.Errorf("%s: %v", name, first)
		}
		if d.Uvarint() != 0 || d.Uint64() != 0 || d.Byte() != 0 || d.Bool() || d.Bytes() != nil || d.Count(1) != 0 || d.HasMore() || d.Err() != first {
			t.Errorf("%s: values after the error", name)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add(encodeAll(), []byte("uu8bttsssc"))
	f.Fuzz(func(t *testing.T, data, reads []byte) {
		d := NewDecoder(data)
		total := 0
		for _, r := range reads {
			switch r {
			case 'u':
				d.Uvarint()
			case '8':
				d.Uint64()
			case 'b':
				d.Byte()
			case 't':
				d.Bool()
			case 's':
				total += len(d.Bytes())
			case 'c':
				if n := d.Count(3); 3*n > len(data) {
					t.Fatalf("%d elements of 3 bytes in %d bytes", n, len(data))
				}
			}
		}
		if total > len(data) {
			t.Fatalf("%d bytes in strings of a message of %d", total, len(data))
		}
	})
}
