// Retention: how much of the log is kept, in blocks.

package changefeed

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// Retention limits a log. A change is trimmed when it is too old or when the log is too large. The
// newest commit always stays, and blocks are trimmed as a whole.
type Retention struct {
	Bytes int64         // 0 is DefaultBytes
	Age   time.Duration // 0 is DefaultAge
}

// The defaults of a Retention.
const (
	DefaultBytes = 256 << 20
	DefaultAge   = 24 * time.Hour
)

// Validate returns an error if a limit is negative.
func (r Retention) Validate() error {
	if r.Bytes < 0 || r.Age < 0 {
		return fmt.Errorf("a retention of %d bytes and %s: neither may be negative", r.Bytes, r.Age)
	}
	return nil
}

// WithDefaults returns r with the default for each missing limit.
func (r Retention) WithDefaults() Retention {
	if r.Bytes == 0 {
		r.Bytes = DefaultBytes
	}
	if r.Age == 0 {
		r.Age = DefaultAge
	}
	return r
}

// blockBytes and blockAge are the size of a block. Larger limits have larger blocks, because all
// blocks are in memory.
func (r Retention) blockBytes() int64 { return min(max(r.Bytes/1024, 1<<20), max(r.Bytes/8, 1)) }

func (r Retention) blockAge() time.Duration { return max(r.Age/1440, time.Second) }

// block is consecutive rows of a log.
type block struct {
	last        triple.Stamp // position of the last row
	bytes       int64        // of keys and values
	first, ends time.Time    // times of the first and the last row
}

// full reports whether the next row begins a new block.
func (r Retention) full(b *block) bool {
	return b.bytes >= r.blockBytes() || b.ends.Sub(b.first) >= r.blockAge()
}

// trim returns how many of the oldest blocks must go, how many bytes of the log are then left of
// size, and why the last of them goes.
func (r Retention) trim(blocks []block, size int64, now time.Time) (n int, left int64, why reason) {
	for _, b := range blocks {
		switch {
		case size > r.Bytes:
			why = reasonBytes
		case now.Sub(b.ends) > r.Age:
			why = reasonAge
		default:
			return n, size, why
		}
		size -= b.bytes
		n++
	}
	return n, size, why
}

// reason is why changes are not in the log.
type reason byte

const (
	reasonNew   reason = iota // they were before the log
	reasonBytes               // the log was too large
	reasonAge                 // they were too old
)

// mark is the end of the trimmed part of a log.
type mark struct {
	triple.Stamp
	at  time.Time
	why reason
}

// explain returns the text of a feed.GoneError.
func (m *mark) explain(r Retention) string {
	at := m.at.UTC().Format(time.RFC3339)
	switch m.why {
	case reasonBytes:
		return fmt.Sprintf("changes up to %s were trimmed, because more than %d bytes followed (--feed-retention)", at, r.Bytes)
	case reasonAge:
		return fmt.Sprintf("changes up to %s were trimmed, because they were older than %s (--feed-retention)", at, r.Age)
	}
	return "the feed of this store begins at " + at
}

func (m *mark) append(dst []byte) []byte {
	dst = binary.AppendUvarint(keyspace.AppendStamp(dst, m.Stamp), uint64(m.at.UnixMilli()))
	return append(dst, byte(m.why))
}

func parseMark(b []byte) (m mark, err error) {
	d := decoder{rest: b}
	m.Stamp = triple.Stamp{Epoch: d.uvarint(), Sequence: d.uvarint()}
	m.at = time.UnixMilli(int64(d.uvarint()))
	m.why = reason(d.byte())
	if d.failed || len(d.rest) > 0 || m.why > reasonAge {
		return m, keyspace.LocalError(b)
	}
	return m, nil
}
