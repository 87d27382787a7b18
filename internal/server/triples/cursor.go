// Cursors: the start of the next page of a query.
//
//	+---------+-------------+-----------------+----------+
//	| version | fingerprint | last key        | check    |
//	| 1 byte  | 8 bytes     | 1 byte and more | 4 bytes  |
//	+---------+-------------+-----------------+----------+
//
// in base64url without padding. The fingerprint is that of the query (query.fingerprint),
// big-endian. The check is the low half of the xxhash64 of all bytes before it, big-endian. It
// finds damage, but it is no signature, because a forged cursor can only get rows within the
// query's own bounds.

package triples

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/triple"
)

const (
	cursorVersion = 1
	cursorHead    = 1 + 8
	cursorCheck   = 4
	// maxCursorText is above the longest key: four terms of at most 1 KiB, with each byte escaped.
	maxCursorText = 16 << 10
)

var cursorEncoding = base64.RawURLEncoding.Strict()

// cursor returns the cursor for the rows after a key.
func (q *query) cursor(key []byte) string {
	b := make([]byte, 0, cursorHead+len(key)+cursorCheck)
	b = append(b, cursorVersion)
	b = binary.BigEndian.AppendUint64(b, q.fingerprint())
	b = append(b, key...)
	b = binary.BigEndian.AppendUint32(b, uint32(xxhash.Sum64(b)))
	return cursorEncoding.EncodeToString(b)
}

// parseCursor returns the key of a cursor. It fails if the cursor is damaged, or if it is of
// another query or version.
func (q *query) parseCursor(text string) ([]byte, error) {
	bad := func(message string, args ...any) ([]byte, error) {
		return nil, problem.Errorf(problem.KindBadCursor, "cursor", message, args...)
	}
	// 1. Decode it. Every character must count, because a cursor must have one form only.
	if len(text) > maxCursorText {
		return bad("longer than any cursor: %d bytes", len(text))
	}
	b, err := cursorEncoding.DecodeString(text)
	// The decoder skips line ends.
	if err != nil || len(b) <= cursorHead+cursorCheck || strings.ContainsAny(text, "\r\n") {
		return bad("damaged: give the cursor as the page before announced it")
	}
	// 2. Check version, damage and query, in this order.
	if b[0] != cursorVersion {
		return bad("of version %d, this server makes version %d: start the query anew", b[0], cursorVersion)
	}
	body, check := b[:len(b)-cursorCheck], b[len(b)-cursorCheck:]
	if binary.BigEndian.Uint32(check) != uint32(xxhash.Sum64(body)) {
		return bad("damaged: give the cursor as the page before announced it")
	}
	if binary.BigEndian.Uint64(body[1:]) != q.fingerprint() {
		return bad("of another query: order, bounds, pattern and direction stay the same from page to page")
	}
	// 3. The key must lie in the query's own bounds, because cursors can be forged.
	key := body[cursorHead:]
	if _, _, err := triple.SplitKey(key); err != nil || !q.keys.Contains(key) {
		return bad("outside the query's bounds")
	}
	return key, nil
}
