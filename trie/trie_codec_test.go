// Tests of the encoding of a trie against golden files and damage.

package trie

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// readHex reads a golden file: hexadecimal digits, white space, and comments from # to the end of
// a line. A golden file must never be rewritten, because stores hold such data.
func readHex(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(tb, err)
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	data, err := hex.DecodeString(digits.String())
	require.NoError(tb, err)
	return data
}

func goldenTrie(tb testing.TB) *Trie {
	tb.Helper()
	t := New(1, 0)
	for _, s := range []Segment{
		{Lo: []byte("abc"), ID: 300, Partition: 4095},
		{Lo: []byte("abcd"), ID: 3, Partition: 7},
		{Lo: []byte("ac\xff"), ID: 1<<64 - 1, Partition: 1<<32 - 1},
	} {
		var err error
		if t, err = t.Split(t.Lookup(s.Lo).ID, s.Lo, s.ID); err != nil {
			tb.Fatal(err)
		}
		if t, err = t.Assign(s.ID, s.Partition); err != nil {
			tb.Fatal(err)
		}
	}
	check(tb, t)
	return t
}

func TestGoldenTrie(t *testing.T) {
	want := readHex(t, "trie.hex")
	tr := goldenTrie(t)
	if got, err := tr.AppendBinary(nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("got  %x, %v\nwant %x", got, err, want)
	}
	got, err := Parse(want)
	require.NoError(t, err)
	check(t, got)
	if !sameSegments(got, slices.Collect(tr.All())) {
		t.Errorf("got %s, want %s", show(got), show(tr))
	}
}

// framed returns body in the frame of f, with a valid checksum.
func (f format) framed(body string) []byte {
	return f.seal(append(f.begin(nil), body...), 0)
}

func TestParseErrors(t *testing.T) {
	good := string(readHex(t, "trie.hex"))
	body := good[magicLen+1 : len(good)-checksumLen]
	overID := strings.Repeat("\xff", 9) + "\x02"
	for _, c := range []struct {
		name string
		data string // in whole where it starts with "tf", else a body
		want string // a part of the message
	}{
		{"empty", "tf"[:0], "byte 5: ends inside the number of segments"},
		{"a part of the frame", good[:12], "byte 12: ends inside the frame"},
		{"another magic", "tfPL" + good[4:], `byte 0: magic is "tfPL", not "tfTR"`},
		{"a flipped bit", good[:9] + "\x08" + good[10:], "byte 43: checksum is "},
		{"no segments", "\x00", "byte 5: the number of segments is 0"},
		{"too many segments", "\xff\xff\xff\xff\x07" + body[1:], "byte 5: the number of segments is 2147483647, for which 37 bytes are too few"},
		{"a number over 64 bits", overID, "byte 5: the number of segments is over 64 bits"},
		{"a number over its limit", "\x80\x80\x80\x80\x08", "byte 5: the number of segments is 2147483648, over 2147483647"},
		{"a long form", "\x81\x00\x00\x00\x01\x00", "byte 5: the number of segments is not in its shortest form"},
		{"a first bound", "\x01\x00\x01a\x01\x00", "segment 1 of 1: byte 7: the first bound is not empty"},
		{"a first shared length", "\x01\x01\x00\x01\x00", "segment 1 of 1: byte 6: the shared length is 1, over 0"},
		{"a segment too few", "\x02\x00\x00\x01\x00\x00\x01b\x02", "segment 2 of 2: byte 14: ends inside the partition"},
		{"a bound cut off", "\x02\x00\x00\x01\x00\x00\x05bcd", "segment 2 of 2: byte 12: the bound's rest has 5 bytes, only 3 are left"},
		{"a bound twice", "\x02\x00\x00\x01\x00\x00\x00\x02\x00", "segment 2 of 2: byte 11: the bound is not greater than the one before"},
		{"a bound out of order", "\x03\x00\x00\x01\x00\x00\x01b\x02\x00\x00\x01a\x03\x00", "segment 3 of 3: byte 16: the bound is less than the one before"},
		{"a bound not shared", "\x03\x00\x00\x01\x00\x00\x01b\x02\x00\x00\x02bb\x03\x00", "segment 3 of 3: byte 15: the shared length 0 is not all that is shared"},
		{"a bound too long", "\x02\x00\x00\x01\x00\x00\x81\x80\x04\x02\x00", "segment 2 of 2: byte 11: the length of the bound's rest is 65537, over 65536"},
		{"an ID over 64 bits", "\x01\x00\x00" + overID + "\x00", "segment 1 of 1: byte 8: the ID is over 64 bits"},
		{"a partition over 32 bits", "\x01\x00\x00\x01\x80\x80\x80\x80\x10", "segment 1 of 1: byte 9: the partition is 4294967296, over 4294967295"},
		{"an ID twice", "\x02\x00\x00\x01\x00\x00\x01b\x01\x00", `two segments have the ID 1, one begins at "b"`},
		{"bytes behind the end", "\x01\x00\x00\x01\x00zz", "byte 10: 2 bytes behind the last element"},
	} {
		data := []byte(c.data)
		if !strings.HasPrefix(c.data, "tf") {
			data = trieFormat.framed(c.data)
		}
		got, err := Parse(data)
		if got != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestParseVersion(t *testing.T) {
	data := readHex(t, "trie.hex")
	data[magicLen] = 2
	_, err := Parse(data)
	if !errors.Is(err, ErrVersion) || errors.Is(err, ErrCorrupt) {
		t.Errorf("version 2: %v", err)
	}
}

// TestParseFindsDamage: no byte may be changed, and no tail may be missing.
func TestParseFindsDamage(t *testing.T) {
	for name, parse := range map[string]func([]byte) error{
		"trie.hex":      func(b []byte) error { _, err := Parse(b); return err },
		"placement.hex": func(b []byte) error { _, err := ParsePlacement(b); return err },
	} {
		good := readHex(t, name)
		for i := range good {
			if err := parse(good[:i]); err == nil {
				t.Errorf("%s: the first %d of %d bytes parse", name, i, len(good))
			}
			for bit := range 8 {
				bad := slices.Clone(good)
				bad[i] ^= 1 << bit
				if err := parse(bad); err == nil {
					t.Errorf("%s: parses with bit %d of byte %d flipped", name, bit, i)
				}
			}
		}
	}
}

// TestParseBoundsItsMemory: a small input must be rejected if its bounds, each one byte longer
// than the one before, would take gigabytes.
func TestParseBoundsItsMemory(t *testing.T) {
	const n = 1 << 16
	body := binary.AppendUvarint(nil, n)
	body = append(body, 0, 0, 0, 0)
	for i := range uint64(n - 1) {
		body = binary.AppendUvarint(body, i)
		body = append(body, 1, 'x')
		body = binary.AppendUvarint(body, i+1)
		body = append(body, 0)
	}
	_, err := Parse(trieFormat.framed(string(body)))
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "the bounds are over 67108864 bytes") {
		t.Error(err)
	}
}
