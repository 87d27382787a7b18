// Tests of the bytes of the rows of the log.

package batchlog

import (
	"encoding/hex"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// The bytes of rows must not change, because later releases read them.
func TestRowBytes(t *testing.T) {
	id := Stream{Machine: 7, Incarnation: 2}
	const stream = "0000000000000007" + "0000000000000002"
	name := func(s string) string { return "03" + hex.EncodeToString([]byte(s)) }
	b := block{last: 3, bytes: 300, newest: 5, first: 8, stamp: triple.Stamp{Epoch: 9, Sequence: 1}}
	for _, test := range []struct{ name, got, want string }{
		{"batch", string(Key(id, 3)), name("unsettled/") + stream + "0000000000000003"},
		{"block key", string(blockKey(id, 3)), name("log/block/") + stream + "0000000000000003"},
		{"block", string(b.append(nil)), "ac02" + "05" + "08" + "09" + "01"},
		{"old", string(oldKey(late{4, id, 3})), name("log/old/") + "0000000000000004" + stream + "0000000000000003"},
		{"trim key", string(trimKey(id)), name("log/trim/") + stream},
		{"trim", string(appendTrim(nil, 300, b.stamp)), "ac02" + "09" + "01"},
		{"trimmed key", string(rowTrimmed), name("log/trimmed")},
	} {
		if got := hex.EncodeToString([]byte(test.got)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if back, err := parseBlock(3, b.append(nil)); err != nil || back != b {
		t.Errorf("%+v, %v", back, err)
	}
	if back, err := parseOldKey(oldKey(late{4, id, 3})); err != nil || back != (late{4, id, 3}) {
		t.Errorf("%+v, %v", back, err)
	}
}

// FuzzRows checks that decoders return errors for malformed rows.
func FuzzRows(f *testing.F) {
	f.Add([]byte("\x03unsettled/0123456789abcdef01234567"))
	f.Add([]byte{0xAC, 2, 5, 8, 9, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, number, err := ParseKey(b); err == nil && len(Key(id, number)) != len(b) {
			t.Errorf("%x", b)
		}
		if block, err := parseBlock(1, b); err == nil {
			if again, err := parseBlock(1, block.append(nil)); err != nil || again != block {
				t.Errorf("%+v became %+v, %v", block, again, err)
			}
		}
		_, _ = parseOldKey(b)
		_, _ = ParseStream(b)
	})
}
