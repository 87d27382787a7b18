// Read counts: how they travel in the feed, as annotations.

package feed

import (
	"bytes"

	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// ReadCountsType is the media type of an annotation with read counts: a JSON object a line.
const ReadCountsType = "application/x-ndjson"

// IsReads reports whether a change is a batch of read counts of a subscription.
func (c *Change) IsReads() bool {
	return c.Kind == Annotate && c.Annotation.ApplicationID == systemgraph.Reads
}

// Reads returns the read counts of a batch as changes of kind Read, which identify themselves as the
// batch does. They share its memory. A line that is no object is left out, because an operator may
// have set the annotation.
func (c *Change) Reads() (all []Change) {
	_, content := triple.CutMedia(c.Annotation.Data)
	for line := range bytes.SplitSeq(content, []byte{'\n'}) {
		members, ok := bytes.CutPrefix(line, []byte{'{'})
		members, closed := bytes.CutSuffix(members, []byte{'}'})
		if !ok || !closed || len(members) == 0 {
			continue
		}
		all = append(all, Change{Kind: Read, Stamp: c.Stamp, Sequencer: c.Sequencer, Time: c.Time, ReadCount: members})
	}
	return all
}
