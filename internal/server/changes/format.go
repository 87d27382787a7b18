// The formats of changes: Server-Sent Events, JSON lines, and RDF Patch.

package changes

import (
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/triple"
)

// Media types of changes.
const (
	eventStream = "text/event-stream"
	rdfPatch    = "application/rdf-patch"
)

// format writes batches in one media type.
type format struct {
	mediaType string
	begin     string // the first bytes of an answer
	expands   bool   // it has no place for loads, so their triples are sent
	triples   bool   // it has no place for anything but triples
	// appendBatch appends the changes of a batch. If it has none, it is a heartbeat. position is
	// "" if more changes of the batch follow.
	appendBatch func(dst []byte, b *feed.Batch, position string) ([]byte, error)
	// appendError appends the last line of a broken answer. text is a JSON object on one line.
	appendError func(dst, text []byte) []byte
}

// formats are in the order of preference. JSON lines are first, because they are for programs that
// accept anything.
var formats = []format{
	{mediaType: response.NDJSON, appendBatch: appendLines, appendError: appendErrorLine},
	{mediaType: eventStream, begin: "retry: " + retryAfter + "\n\n", appendBatch: appendEvents, appendError: appendErrorEvent},
	{mediaType: rdfPatch, expands: true, triples: true, appendBatch: appendPatch, appendError: appendErrorComment},
}

func appendLines(dst []byte, b *feed.Batch, position string) (_ []byte, err error) {
	if len(b.Changes) == 0 && position != "" {
		return append(feed.AppendHeartbeat(dst, b.Time, position), '\n'), nil
	}
	for i := range b.Changes {
		at := ""
		if i == len(b.Changes)-1 {
			at = position
		}
		if dst, err = b.Changes[i].AppendJSON(dst, b.Time, at); err != nil {
			return nil, err
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

func appendErrorLine(dst, text []byte) []byte { return append(append(dst, text...), '\n') }

// appendEvents appends one event for each change. Only the last one has an ID, because a client
// that has received a part of a batch must get all of it again.
func appendEvents(dst []byte, b *feed.Batch, position string) (_ []byte, err error) {
	if len(b.Changes) == 0 && position != "" {
		// An event without data sets the ID, and browsers dispatch nothing.
		return append(append(append(dst, ": heartbeat\nid: "...), position...), "\n\n"...), nil
	}
	for i := range b.Changes {
		at := ""
		if i == len(b.Changes)-1 && position != "" {
			at = position
			dst = append(append(append(dst, "id: "...), position...), '\n')
		}
		c := &b.Changes[i]
		dst = append(append(append(dst, "event: "...), c.Kind.String()...), "\ndata: "...)
		if dst, err = c.AppendJSON(dst, b.Time, at); err != nil {
			return nil, err
		}
		dst = append(dst, "\n\n"...)
	}
	return dst, nil
}

func appendErrorEvent(dst, text []byte) []byte {
	return append(append(append(dst, "event: error\ndata: "...), text...), "\n\n"...)
}

// appendPatch appends a batch as one transaction. The position is a comment behind it.
func appendPatch(dst []byte, b *feed.Batch, position string) ([]byte, error) {
	if len(b.Changes) > 0 {
		dst = append(dst, "TX .\n"...)
		for i := range b.Changes {
			c := &b.Changes[i]
			letter := "A "
			switch c.Kind {
			case feed.Delete:
				letter = "D "
			case feed.Add:
			default:
				continue
			}
			t, err := c.Triple()
			if err != nil {
				return nil, err
			}
			dst = triple.AppendNQuad(append(dst, letter...), t)
		}
		dst = append(dst, "TC .\n"...)
	}
	if position == "" {
		return dst, nil
	}
	dst = append(append(dst, "# position "...), position...)
	return append(b.Time.UTC().AppendFormat(append(dst, " time "...), time.RFC3339Nano), '\n'), nil
}

func appendErrorComment(dst, text []byte) []byte {
	return append(append(append(dst, "# error "...), text...), '\n')
}
