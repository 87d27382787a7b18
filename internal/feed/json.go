// The JSON form of changes, for the HTTP API, webhooks and update functions.

package feed

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// AppendJSON appends a change as one JSON object on one line. Its members are:
//
//   - kind: the name of the kind.
//   - s, p, o, g: the triple, as in [triple.AppendTripleJSON]; not of Load and Clear.
//   - app, and type (the media type) and data (base64) or removed: of an annotation.
//   - load, new: the ID of a load and its number of new triples; new is missing if it is unknown.
//   - all, default, graphs: what was cleared.
//   - predicates: an object of the number of rows by predicate, of Load and Clear; missing if it is
//     unknown.
//   - of Read, the members of ReadCount.
//   - epoch, sequence, sequencer: what identifies the change. sequencer is the machine's ID in
//     hexadecimal digits, and is missing in a lone store.
//   - depth: calls of update functions that led to the change; missing if a client made it.
//   - time: of the commit.
//   - position: where a consumer continues; only of the last change of a batch.
//
// position may be "" if the change is not the last one.
func (c *Change) AppendJSON(dst []byte, at time.Time, position string) ([]byte, error) {
	// 1. Append the kind and what has changed.
	if !c.Time.IsZero() {
		at = c.Time
	}
	dst = append(append(append(dst, `{"kind":"`...), c.Kind.String()...), '"')
	switch c.Kind {
	case Load:
		dst = triple.AppendJSONString(append(dst, `,"load":`...), c.Load.ID)
		if c.Load.New >= 0 {
			dst = strconv.AppendInt(append(dst, `,"new":`...), c.Load.New, 10)
		}
		dst = c.Load.Predicates.appendJSON(dst)
	case Clear:
		dst = c.Clear.appendJSON(dst)
	case Read:
		dst = append(append(dst, ','), c.ReadCount...)
	default:
		t, err := c.Triple()
		if err != nil {
			return nil, err
		}
		before := len(dst)
		dst = triple.AppendTripleJSON(dst, t) // its members become members of the change
		dst[before] = ','
		dst = dst[:len(dst)-1]
	}
	if a := c.Annotation; a != nil {
		dst = triple.AppendJSONString(append(dst, `,"app":`...), a.ApplicationID)
		if a.Removed {
			dst = append(dst, `,"removed":true`...)
		} else {
			media, content := triple.CutMedia(a.Data)
			dst = triple.AppendJSONString(append(dst, `,"type":`...), media)
			dst = append(base64.StdEncoding.AppendEncode(append(dst, `,"data":"`...), content), '"')
		}
	}
	// 2. Append what identifies it.
	dst = strconv.AppendUint(append(dst, `,"epoch":`...), c.Stamp.Epoch, 10)
	dst = strconv.AppendUint(append(dst, `,"sequence":`...), c.Stamp.Sequence, 10)
	if c.Sequencer != 0 {
		id := binary.BigEndian.AppendUint64(nil, uint64(c.Sequencer))
		dst = append(hex.AppendEncode(append(dst, `,"sequencer":"`...), id), '"')
	}
	if c.Depth > 0 {
		dst = strconv.AppendUint(append(dst, `,"depth":`...), uint64(c.Depth), 10)
	}
	return append(appendTail(dst, at, position), '}'), nil
}

// AppendHeartbeat appends a line without a change. Its kind is "heartbeat".
func AppendHeartbeat(dst []byte, at time.Time, position string) []byte {
	return append(appendTail(append(dst, `{"kind":"heartbeat"`...), at, position), '}')
}

// appendTail appends the members time and position. Position texts need no escapes.
func appendTail(dst []byte, at time.Time, position string) []byte {
	dst = at.UTC().AppendFormat(append(dst, `,"time":"`...), "2006-01-02T15:04:05.000Z07:00")
	dst = append(dst, '"')
	if position != "" {
		dst = append(append(append(dst, `,"position":"`...), position...), '"')
	}
	return dst
}

func (c *ClearInfo) appendJSON(dst []byte) []byte {
	if c.All {
		return append(dst, `,"all":true`...)
	}
	if c.Default {
		dst = append(dst, `,"default":true`...)
	}
	if len(c.Graphs) > 0 {
		dst = append(dst, `,"graphs":[`...)
		for i, g := range c.Graphs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = triple.AppendJSON(dst, g)
		}
		dst = append(dst, ']')
	}
	return c.Predicates.appendJSON(dst)
}

func (p Predicates) appendJSON(dst []byte) []byte {
	if p == nil {
		return dst
	}
	dst = append(dst, `,"predicates":{`...)
	for i, name := range slices.Sorted(maps.Keys(p)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(triple.AppendJSONString(dst, name), ':'), p[name], 10)
	}
	return append(dst, '}')
}
