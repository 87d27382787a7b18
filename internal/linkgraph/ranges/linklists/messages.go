// Messages about lists: a request to their owner, and its replies.

package linklists

import (
	"bytes"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// MethodOwned requests lists from the machine that reads their rows:
//
//	request: epoch uvarint, direction byte, want byte; of samples mode byte, class byte,
//	         n and seed uvarint; count uvarint, and of each list
//	         UID (8 bytes, 0 if it is not known), URL ("" if the machine received it
//	         before), and the bounds of a part of the list: two keys, or an empty one
//	         if all of it is requested
//	answer:  count uvarint, and of each list a byte:
//	           0  nothing: for a permanent reason
//	           1  nothing: the URL must be sent
//	           2  nothing: there was no room, or no time; the request may be repeated
//	           3  its length, uvarint; unless only degrees are requested, the packed
//	              list or sample (bytes); if it is a part, the URLs of the other ends
//	              of its first and its last link, in the order of rows
//
// Strings and bytes begin with their lengths. A link in several graphs has several rows. If a
// part of a list ends between these, the link is in both parts: the last one of the first part
// and the first one of the next.
const MethodOwned = "links/own"

// Values of the want byte.
const (
	wantLists byte = iota
	wantDegrees
	wantSamples
)

// States of a reply.
const (
	repliedNothing byte = iota
	repliedURL
	repliedLater
	repliedKnown
)

// question is a request to one machine.
type question struct {
	epoch uint64
	d     links.Direction
	want  byte
	spec  sample.Spec // of samples
	lists []listRequest
}

// listRequest is a requested list, or a part of one.
type listRequest struct {
	page uid.UID
	url  string
	part triple.Range // without bounds if all of it is requested
}

// reply is the answer about one list.
type reply struct {
	state  byte
	degree int
	packed []byte
	ends   [2]string
}

// fields codes a question. It rejects samples that are too large, and parts of more than one list.
func (q *question) fields(c *peer.Coder) {
	// 1. The head. Bounds are checked because the sender may be of another version.
	c.Uvarint(&q.epoch)
	peer.Byte(c, &q.d)
	peer.Byte(c, &q.want)
	if q.want == wantSamples {
		n := uint64(max(q.spec.N, 0))
		peer.Byte(c, &q.spec.Mode)
		peer.Byte(c, &q.spec.Class)
		c.Uvarint(&n, &q.spec.Seed)
		if n > maxSampled || q.spec.Mode > sample.ModeConsistent || q.spec.Class > sample.InterDomain {
			c.Fail("samples of %d links, %s, %s", n, q.spec.Mode, q.spec.Class)
		} else if c.Reading() {
			q.spec.N = int(n)
		}
	}
	// 2. The lists.
	peer.List(c, &q.lists, 10, (*listRequest).fields)
	if q.d != links.Forward && q.d != links.Backward || q.want > wantSamples {
		c.Fail("direction %d, %d is asked for", q.d, q.want)
	}
}

// fields codes a list. A part must lie within one list, and must come with its URL.
func (l *listRequest) fields(c *peer.Coder) {
	peer.Uint64(c, &l.page)
	c.String(&l.url)
	if c.Bytes(&l.part.Lo); len(l.part.Lo) > 0 {
		c.Bytes(&l.part.Hi)
		pair, ok := triple.KeyPair(l.part.Lo)
		if !ok || l.url == "" || l.part.Hi == nil || l.part.Empty() || bytes.Compare(l.part.Hi, copies.PairRange(pair).Hi) > 0 {
			c.Fail("a part of more than one list")
		}
	} else if c.Reading() {
		l.part.Lo = nil
	}
}

// size returns about the length of a question in a message.
func (q *question) size() int {
	size := 64
	for i := range q.lists {
		l := &q.lists[i]
		size += 12 + len(l.url) + len(l.part.Lo) + len(l.part.Hi)
	}
	return size
}

// encodeReplies encodes the answer to a question. It and parseReplies are written by hand, because
// with a peer.Coder 1,000 lists take 1.8 times as long to encode, and 1.3 times to decode.
func (q *question) encodeReplies(replies []reply) []byte {
	size := 16
	for i := range replies {
		size += 8 + len(replies[i].packed)
	}
	e := peer.NewEncoder(size)
	e.Uvarint(uint64(len(replies)))
	for i := range replies {
		r := &replies[i]
		e.Byte(r.state)
		if r.state != repliedKnown {
			continue
		}
		e.Uvarint(uint64(r.degree))
		// The fields after the state depend on the question, so both sides must have it.
		if q.want != wantDegrees {
			e.Bytes(r.packed)
		}
		if q.lists[i].part.Lo != nil {
			e.String(r.ends[0])
			e.String(r.ends[1])
		}
	}
	return e.Data()
}

// parseReplies decodes the answer to a question. Lists and samples share memory with it.
func (q *question) parseReplies(answer []byte) ([]reply, error) {
	d := peer.NewDecoder(answer)
	replies := make([]reply, d.Count(1))
	if d.Err() == nil && len(replies) != len(q.lists) {
		return nil, fmt.Errorf("%w: %d answers about %d lists", peer.ErrMessage, len(replies), len(q.lists))
	}
	// Sizes are checked here, because callers allocate memory by the degree.
	for i := range replies {
		r := &replies[i]
		// Only known lists have more than their state.
		if r.state = d.Byte(); r.state > repliedKnown {
			return nil, fmt.Errorf("%w: an answer of kind %d", peer.ErrMessage, r.state)
		} else if r.state != repliedKnown {
			continue
		}
		degree := d.Uvarint()
		if degree > maxDegree {
			return nil, fmt.Errorf("%w: a list of %d links", peer.ErrMessage, degree)
		}
		r.degree = int(degree)
		if q.want != wantDegrees {
			r.packed = d.Bytes()
		}
		if q.want == wantLists && d.Err() == nil && linkkeys.PackedDegree(r.packed) != r.degree {
			return nil, fmt.Errorf("%w: a list of %d links that has %d", peer.ErrMessage, r.degree, linkkeys.PackedDegree(r.packed))
		}
		if q.lists[i].part.Lo != nil {
			r.ends = [2]string{d.String(), d.String()}
		}
	}
	return replies, d.End()
}

// maxDegree is more links than any page has.
const maxDegree = 1 << 40
