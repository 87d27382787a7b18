// Messages about changes of lists that are replaced.

package ranges

import (
	"errors"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links/edits"
	"github.com/trefoildb/trefoil/node/peer"
)

// methodReplace has the machine through which the lists of some pages are replaced make
// changes of them:
//
//	request: epoch uvarint, n uvarint, n changes
//	change:  kind byte, source, n uvarint, n targets, labelled bool, and if it is n labels
//	answer:  outcome byte, added uvarint, deleted uvarint, message
//
// Sources, targets, labels and the message are each a length uvarint and bytes; those of
// a label are what is noted on a triple (lists.AppendLabel), none for no label.
const methodReplace = "links/replace"

// replaceBytes bounds a message, and so the changes of one, in bytes.
const replaceBytes = 4 << 20

// What came of changes.
const (
	replacedAll     byte = iota
	replacedUnsure       // all is written, and is to be made again: another view has come
	replacedFailed       // for the reason that the message tells
	replacedUnknown      // node.ErrUnknown
	replacedUnavailable
	replacedFull
)

// replaceErrors are the errors that cross the wire, by outcome. The first one counts.
var replaceErrors = []struct {
	outcome byte
	err     error
}{
	{replacedUnknown, node.ErrUnknown},
	{replacedFull, node.ErrDiskFull},
	{replacedUnavailable, node.ErrUnavailable},
	{replacedUnavailable, node.ErrClosed},
}

// replaced is what came of changes. Beside an error it is what is known to be done.
type replaced struct {
	added, deleted int64
	unsure         bool
}

// changeBytes is no less than what a change takes in a message.
func changeBytes(c *links.Change) int {
	const number, label = 10, 16 // the longest number; of a label beside its anchor
	n := 2*number + len(c.Source) + 2
	for _, target := range c.Targets {
		n += number + len(target)
	}
	for i := range c.Labels {
		n += number + label + len(c.Labels[i].Anchor)
	}
	return n
}

// replaceHead is no less than what a message takes beside its changes.
const replaceHead = 32

// isLong reports whether a change is made in parts.
func isLong(c *links.Change) bool {
	return len(c.Targets) > changedLinks || changeBytes(c) > replaceBytes-replaceHead
}

// encodeReplace returns a request. No change is long, and all together have no more than
// replaceBytes.
func encodeReplace(epoch uint64, changes []links.Change) []byte {
	size := replaceHead
	for i := range changes {
		size += changeBytes(&changes[i])
	}
	e := peer.NewEncoder(size)
	e.Uvarint(epoch)
	e.Uvarint(uint64(len(changes)))
	var label []byte
	for i := range changes {
		c := &changes[i]
		e.Byte(byte(c.Kind))
		e.String(c.Source)
		e.Uvarint(uint64(len(c.Targets)))
		for _, target := range c.Targets {
			e.String(target)
		}
		e.Bool(c.Labels != nil)
		for _, l := range c.Labels {
			if label = label[:0]; l != cell.NoLabel {
				label = lists.AppendLabel(label, l)
			}
			e.Bytes(label)
		}
	}
	return e.Data()
}

// parseReplace reads a request: changes that edits.Check finds right.
func parseReplace(body []byte) (epoch uint64, changes []links.Change, err error) {
	if len(body) > replaceBytes {
		return 0, nil, fmt.Errorf("%w: %d bytes of changes; %d are the most", peer.ErrMessage, len(body), replaceBytes)
	}
	d := peer.NewDecoder(body)
	epoch = d.Uvarint()
	targets := 0
	for range d.Count(4) { // appended: a change takes more memory than bytes of a message
		c, err := parseChange(d, changedLinks-targets)
		targets += len(c.Targets)
		if err == nil {
			err = d.Err()
		}
		if err == nil {
			err = edits.Check(&c)
		}
		if err != nil {
			return 0, nil, fmt.Errorf("change %d: %w", len(changes), err)
		}
		changes = append(changes, c)
	}
	return epoch, changes, d.End()
}

// parseChange reads a change of so many links at most.
func parseChange(d *peer.Decoder, most int) (c links.Change, err error) {
	c.Kind, c.Source = links.ChangeKind(d.Byte()), d.String()
	n := d.Count(1)
	if n > most {
		return c, fmt.Errorf("%w: %d links; there is room for %d", peer.ErrMessage, n, most)
	}
	c.Targets = make([]string, n)
	for i := range c.Targets {
		c.Targets[i] = d.String()
	}
	if !d.Bool() {
		return c, nil
	}
	c.Labels = make([]links.Label, len(c.Targets))
	for i := range c.Labels {
		c.Labels[i] = cell.NoLabel
		data := d.Bytes()
		if len(data) == 0 {
			continue
		}
		if c.Labels[i], err = lists.DecodeLabel(data); err != nil {
			return c, fmt.Errorf("%w: label %d: %w", peer.ErrMessage, i, err)
		}
	}
	return c, nil
}

// encodeReplaced returns the answer to changes.
func encodeReplaced(r replaced, err error) []byte {
	outcome, message := replacedAll, ""
	switch {
	case err != nil:
		outcome, message = replacedFailed, err.Error()
		for _, known := range replaceErrors {
			if errors.Is(err, known.err) {
				outcome = known.outcome
				break
			}
		}
	case r.unsure:
		outcome = replacedUnsure
	}
	e := peer.NewEncoder(replaceHead + len(message))
	e.Byte(outcome)
	e.Uvarint(uint64(r.added))
	e.Uvarint(uint64(r.deleted))
	e.String(message)
	return e.Data()
}

var errReplace = errors.New("the machine that replaces lists failed")

// parseReplaced reads an answer: what came of changes, and their error.
func parseReplaced(answer []byte) (r replaced, err error) {
	d := peer.NewDecoder(answer)
	outcome := d.Byte()
	added, deleted, message := d.Uvarint(), d.Uvarint(), d.String()
	if err := d.End(); err != nil {
		return r, fmt.Errorf("%w: %w", node.ErrUnknown, err)
	}
	if added > math.MaxInt32 || deleted > math.MaxInt64/2 {
		return r, fmt.Errorf("%w: %w: %d links added, %d deleted", node.ErrUnknown, peer.ErrMessage, added, deleted)
	}
	r = replaced{added: int64(added), deleted: int64(deleted), unsure: outcome == replacedUnsure}
	switch outcome {
	case replacedAll, replacedUnsure:
		return r, nil
	case replacedFailed:
		return r, fmt.Errorf("%w: %s", errReplace, message)
	}
	for _, known := range replaceErrors {
		if outcome == known.outcome {
			return r, fmt.Errorf("%w: %s", known.err, message)
		}
	}
	return r, fmt.Errorf("%w: %w: outcome %d", node.ErrUnknown, peer.ErrMessage, outcome)
}
