// Batches: the JSON form of counts.

package readcount

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/triple"
)

// makeBatch makes the next batch of what waits. It is an annotation with a JSON object a line:
//
//   - s, p, o, g: the terms of the pattern, without those that are not bound. default is true if only
//     the default graph was read. long lists the positions of terms that are too long to be shown.
//   - caller: anonymous, client, operator or application; app: the ID of the application.
//   - other: true in place of both, if there was no room for more patterns.
//   - reads, rows: how many scans, and how many rows they returned; first, last: when they ended.
//   - run, batch: what identifies the batch; 16 hexadecimal digits and a number from 1 on.
//
// run and number identify the batch. makeBatch returns false if nothing waits.
func (s *subscription) makeBatch(run, number uint64) bool {
	if len(s.waiting) == 0 && s.other.reads == 0 {
		return false
	}
	id := hex.EncodeToString(binary.BigEndian.AppendUint64(nil, run))
	tail := func(dst []byte, n *count) []byte {
		dst = strconv.AppendInt(append(dst, `"reads":`...), n.reads, 10)
		dst = strconv.AppendInt(append(dst, `,"rows":`...), n.rows, 10)
		dst = n.first.UTC().AppendFormat(append(dst, `,"first":"`...), time.RFC3339Nano)
		dst = n.last.UTC().AppendFormat(append(dst, `","last":"`...), time.RFC3339Nano)
		dst = append(append(dst, `","run":"`...), id...)
		return append(strconv.AppendUint(append(dst, `","batch":`...), number, 10), "}\n"...)
	}
	// 1. Counts with a pattern, the oldest first, up to the size of a batch.
	var lines []byte
	keys := slices.SortedFunc(maps.Keys(s.waiting), func(a, b key) int {
		return cmp.Or(s.waiting[a].first.Compare(s.waiting[b].first), a.compare(b))
	})
	for _, k := range keys {
		if len(lines) >= maxBatch {
			break
		}
		n, p := s.waiting[k], decodePattern(k.pattern)
		delete(s.waiting, k)
		line, err := p.appendJSON(append(lines, '{'))
		if err != nil {
			s.other.merge(*n) // a key that no scan can have
			continue
		}
		line = append(append(append(line, `"caller":"`...), k.caller.Kind...), `",`...)
		if k.caller.Application != "" {
			line = append(triple.AppendJSONString(append(line, `"app":`...), k.caller.Application), ',')
		}
		lines = tail(line, n)
	}
	// 2. Counts without one.
	if s.other.reads > 0 {
		lines = tail(append(lines, `{"other":true,`...), &s.other)
		s.other = count{}
	}
	s.sending, _ = triple.AppendMedia(nil, feed.ReadCountsType, lines)
	return true
}
