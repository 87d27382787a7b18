// What machines are asked about the lists that they read.

package ranges

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/links/copies"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// methodOwn asks the machine that reads the rows of pages' lists about these:
//
//	request: epoch uvarint, direction byte, what byte; of samples mode byte, class byte,
//	         n and seed uvarint; count uvarint, and of each list
//	         UID (8 bytes, 0 where it is not known), URL ("" where the machine was told
//	         it before), and the bounds of a part of the list: two keys, or one that is
//	         empty for all of it
//	answer:  count uvarint, and of each list a byte:
//	           0  nothing: for a reason that stays
//	           1  nothing: the URL is to be told
//	           2  nothing: there was no room, or no time; ask again
//	           3  how long it is, uvarint; unless that was all that was asked for the
//	              packed list or sample (bytes); of a part the URLs of its first and its
//	              last link's other end, in the order of rows
//
// Strings and bytes begin with their lengths. A link in several graphs has several rows,
// and a part of a list may end between these: then it is in both parts, the last one of
// the one and the first one of the other.
const methodOwn = "links/own"

// What is asked for.
const (
	wantLists byte = iota
	wantDegrees
	wantSamples
)

// What is answered.
const (
	repliedNothing byte = iota
	repliedURL
	repliedLater
	repliedKnown
)

// question is what one machine is asked.
type question struct {
	epoch uint64
	d     links.Direction
	want  byte
	spec  sample.Spec // of samples
	lists []askedList
}

// askedList is a list, or a part of one, that a machine is asked about.
type askedList struct {
	page uid.UID
	url  string
	part triple.Range // without bounds for all of it
}

// reply is what is told of a list.
type reply struct {
	state  byte
	degree int
	packed []byte
	ends   [2]string
}

func (q *question) encode() []byte {
	size := 64
	for i := range q.lists {
		l := &q.lists[i]
		size += 12 + len(l.url) + len(l.part.Lo) + len(l.part.Hi)
	}
	e := peer.NewEncoder(size)
	e.Uvarint(q.epoch)
	e.Byte(byte(q.d))
	e.Byte(q.want)
	if q.want == wantSamples {
		e.Byte(byte(q.spec.Mode))
		e.Byte(byte(q.spec.Class))
		e.Uvarint(uint64(max(q.spec.N, 0)))
		e.Uvarint(q.spec.Seed)
	}
	e.Uvarint(uint64(len(q.lists)))
	for i := range q.lists {
		l := &q.lists[i]
		e.Uint64(uint64(l.page))
		e.String(l.url)
		e.Bytes(l.part.Lo)
		if l.part.Lo != nil {
			e.Bytes(l.part.Hi)
		}
	}
	return e.Data()
}

// parseQuestion reads a question.
func parseQuestion(body []byte) (*question, error) {
	d := peer.NewDecoder(body)
	q := &question{epoch: d.Uvarint(), d: links.Direction(d.Byte()), want: d.Byte()}
	if q.want == wantSamples {
		q.spec.Mode, q.spec.Class = sample.Mode(d.Byte()), sample.Class(d.Byte())
		n := d.Uvarint()
		q.spec.Seed = d.Uvarint()
		if n > maxSampled || q.spec.Mode > sample.ModeConsistent || q.spec.Class > sample.InterDomain {
			return nil, fmt.Errorf("%w: samples of %d links, %s, %s", peer.ErrMessage, n, q.spec.Mode, q.spec.Class)
		}
		q.spec.N = int(n)
	}
	q.lists = make([]askedList, d.Count(10))
	for i := range q.lists {
		l := &q.lists[i]
		l.page, l.url = uid.UID(d.Uint64()), d.String()
		if lo := d.Bytes(); len(lo) > 0 {
			l.part = triple.Range{Lo: lo, Hi: d.Bytes()}
			pair, ok := triple.KeyPair(lo)
			if d.Err() == nil && (!ok || l.url == "" || l.part.Hi == nil || l.part.Empty() || bytes.Compare(l.part.Hi, copies.PairRange(pair).Hi) > 0) {
				return nil, fmt.Errorf("%w: a part of more than one list", peer.ErrMessage)
			}
		}
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	if q.d != links.Forward && q.d != links.Backward || q.want > wantSamples {
		return nil, fmt.Errorf("%w: direction %d, %d is asked for", peer.ErrMessage, q.d, q.want)
	}
	return q, nil
}

// encodeReplies returns the answer to a question.
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

// parseReplies reads the answer to a question; lists and samples share memory with it.
func (q *question) parseReplies(answer []byte) ([]reply, error) {
	d := peer.NewDecoder(answer)
	replies := make([]reply, d.Count(1))
	if d.Err() == nil && len(replies) != len(q.lists) {
		return nil, fmt.Errorf("%w: %d answers about %d lists", peer.ErrMessage, len(replies), len(q.lists))
	}
	for i := range replies {
		r := &replies[i]
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
		if q.want == wantLists && d.Err() == nil && packedDegree(r.packed) != r.degree {
			return nil, fmt.Errorf("%w: a list of %d links that has %d", peer.ErrMessage, r.degree, packedDegree(r.packed))
		}
		if q.lists[i].part.Lo != nil {
			r.ends = [2]string{d.String(), d.String()}
		}
	}
	return replies, d.End()
}

// maxDegree is more links than any page has.
const maxDegree = 1 << 40

func (g *Graph) handleOwn(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	q, err := parseQuestion(body)
	if err != nil {
		return nil, err
	}
	replies, err := g.own(ctx, q)
	if err != nil {
		return nil, err
	}
	return q.encodeReplies(replies), nil
}

// askOwner asks a machine about lists.
func (g *Graph) askOwner(ctx context.Context, owner trie.MachineID, q *question) ([]reply, error) {
	if owner == g.store.MachineID() {
		return g.own(ctx, q)
	}
	answer, err := g.callOwner(ctx, owner, methodOwn, q.encode())
	if err != nil {
		return nil, err
	}
	return q.parseReplies(answer)
}
