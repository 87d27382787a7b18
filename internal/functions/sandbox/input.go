// The input of a call.

package sandbox

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/triple"
)

// Input is what a function gets.
type Input struct {
	// Change is an Add, a Delete or an Annotate. Before the commit its stamp is zero.
	Change feed.Change
	// Position is the text of the position behind the change; "" before the commit.
	Position string
	// Location is where the triple of the change is.
	Location Location
	// Arguments are the other triples that the registration names.
	Arguments []Argument
}

// Argument is a triple beside the change.
type Argument struct {
	Triple   triple.Triple
	Location Location
}

// Location names a machine and a segment. Either is "" if it is unknown.
type Location struct {
	Machine, Segment string
}

// append appends the lines of the input.
func (in *Input) append(dst []byte) ([]byte, error) {
	c := &in.Change
	// 1. The change: the kind, the triple and the annotation.
	t, err := c.Triple()
	if err != nil {
		return nil, fmt.Errorf("input of an update function: %w", err)
	}
	dst = append(append(append(dst, `{"kind":"`...), c.Kind.String()...), `",`...)
	dst = appendMembers(dst, t)
	if a := c.Annotation; a != nil {
		dst = triple.AppendJSONString(append(dst, `,"app":`...), a.ApplicationID)
		if a.Removed {
			dst = append(dst, `,"removed":true`...)
		} else {
			dst = append(base64.StdEncoding.AppendEncode(append(dst, `,"data":"`...), a.Data), '"')
		}
	}
	// 2. What identifies it, if it is committed.
	if c.Stamp != (triple.Stamp{}) {
		dst = strconv.AppendUint(append(dst, `,"epoch":`...), c.Stamp.Epoch, 10)
		dst = strconv.AppendUint(append(dst, `,"sequence":`...), c.Stamp.Sequence, 10)
		if c.Sequencer != 0 {
			dst = triple.AppendJSONString(append(dst, `,"sequencer":`...), c.Sequencer.String())
		}
	}
	if in.Position != "" {
		dst = triple.AppendJSONString(append(dst, `,"position":`...), in.Position)
	}
	if in.Location != (Location{}) {
		dst = in.Location.append(append(dst, ','))
		dst = dst[:len(dst)-1] // without the comma at its end
	}
	dst = append(dst, "}\n"...)
	// 3. The arguments, the location first.
	for _, a := range in.Arguments {
		dst = appendMembers(a.Location.append(append(dst, '{')), a.Triple)
		dst = append(dst, "}\n"...)
	}
	return dst, nil
}

// append appends the members of a location, each with a comma behind it.
func (l Location) append(dst []byte) []byte {
	if l.Machine != "" {
		dst = append(triple.AppendJSONString(append(dst, `"machine":`...), l.Machine), ',')
	}
	if l.Segment != "" {
		dst = append(triple.AppendJSONString(append(dst, `"segment":`...), l.Segment), ',')
	}
	return dst
}

// appendMembers appends s, p, o and g without braces.
func appendMembers(dst []byte, t triple.Triple) []byte {
	at := len(dst)
	dst = triple.AppendTripleJSON(dst, t)
	// The brace before the members is overwritten by moving them one byte to the front.
	copy(dst[at:], dst[at+1:])
	return dst[:len(dst)-2]
}
