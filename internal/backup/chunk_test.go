// Forged chunks.

package backup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/triple"
)

// TestChunkBomb: keys that share prefixes do not become much larger than the writer makes them.
func TestChunkBomb(t *testing.T) {
	key, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{Subject: triple.NewIRI("http://ex/" + strings.Repeat("s", 900)), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewString("o")})
	rowOf := func(changes int) []byte {
		var row changefeed.Encoder
		row.Begin(time.Time{})
		for range changes {
			row.Triple(feed.Add, 0, key, nil)
		}
		return row.Bytes(false)
	}
	// 1. A row of 300 KB with keys of 90 MB.
	large := appendPiece(nil, piece{row: rowOf(100_000)})
	// 2. Many small rows: 4 MB with keys of 800 MB.
	var many []byte
	for small := rowOf(1000); len(many) < 4<<20; {
		many = appendPiece(many, piece{row: small})
	}
	for name, chunk := range map[string][]byte{"one row": large, "many rows": many} {
		changes := 0
		err := eachChange(chunk, func(*feed.Change, moment) error { changes++; return nil })
		if !errors.Is(err, store.ErrBackup) {
			t.Errorf("%s: %d bytes with %d changes: %v", name, len(chunk), changes, err)
		}
	}
}
