// Requests: written whole, read whole.

package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// Request is a request about many pages.
type Request struct {
	// UIDs or URLs are the pages. Only one of them may be set.
	UIDs []uid.UID
	URLs []string

	Direction links.Direction
	Labels    bool
	Sample    sample.Spec // N is not negative
}

const (
	formUIDs = 1
	formURLs = 2

	flagLabels = 1
)

// AppendRequest appends a request. If it has URLs, UIDs is ignored.
func AppendRequest(dst []byte, r *Request) []byte {
	dst = appendHead(dst, Query)
	form, flags := byte(formUIDs), byte(0)
	if len(r.URLs) > 0 {
		form = formURLs
	}
	if r.Labels {
		flags |= flagLabels
	}
	dst = append(dst, form, byte(r.Direction), flags, byte(r.Sample.Mode), byte(r.Sample.Class))
	dst = binary.AppendUvarint(dst, uint64(max(r.Sample.N, 0)))
	dst = binary.AppendUvarint(dst, r.Sample.Seed)
	if form == formURLs {
		dst = binary.AppendUvarint(dst, uint64(len(r.URLs)))
		for _, url := range r.URLs {
			dst = append(binary.AppendUvarint(dst, uint64(len(url))), url...)
		}
		return append(dst, endMark)
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.UIDs)))
	last := uid.UID(0)
	for _, u := range r.UIDs {
		dst = binary.AppendUvarint(dst, zigzag(uint64(u-last)))
		last = u
	}
	return append(dst, endMark)
}

// maxSample is the maximum sample of a request, because no list is longer.
const maxSample = 1<<31 - 1

// DecodeRequest decodes a request of at most most pages. The result shares no memory with b.
// Errors wrap [ErrMalformed] or [ErrTooMany].
func DecodeRequest(b []byte, most int) (*Request, error) {
	if err := checkHead(b, Query); err != nil {
		return nil, err
	}
	// 1. Decode the head. A failed decoder returns zeros, so d.failed must be checked first.
	d := decoder{b: b, at: headBytes}
	form, direction, flags, mode, class := d.byte(), d.byte(), d.byte(), d.byte(), d.byte()
	n, seed, count := d.number(), d.number(), d.number()
	switch {
	case d.failed:
		return nil, d.malformed("a request's head")
	case form != formUIDs && form != formURLs, direction > byte(links.Backward), flags&^flagLabels != 0,
		mode > byte(sample.ModeConsistent), class > byte(sample.InterDomain), n > maxSample:
		return nil, fmt.Errorf("%w: a request of form %d, direction %d, flags %d, mode %d, class %d, sample %d",
			ErrMalformed, form, direction, flags, mode, class, n)
	// The count must be checked before it is used as a size. An item takes at least one byte.
	case count > uint64(len(b)):
		return nil, fmt.Errorf("%w: %d items in %d bytes", ErrMalformed, count, len(b))
	case count > uint64(max(most, 0)):
		return nil, fmt.Errorf("%w: %d, and %d is the most", ErrTooMany, count, most)
	}
	r := &Request{Direction: links.Direction(direction), Labels: flags&flagLabels != 0,
		Sample: sample.Spec{N: int(n), Mode: sample.Mode(mode), Class: sample.Class(class), Seed: seed}}
	// 2. Decode the items. Nothing may follow the end mark.
	if form == formUIDs {
		r.UIDs = d.uids(int(count))
	} else {
		r.URLs = d.texts(int(count))
	}
	if d.byte() != endMark || d.failed || d.at != len(b) {
		return nil, d.malformed("a request's items")
	}
	return r, nil
}

// checkHead checks the first bytes of a message.
func checkHead(b []byte, k Kind) error {
	switch {
	case len(b) < headBytes || b[0] != 't' || b[1] != 'L':
		return fmt.Errorf("%w: it does not begin as one", ErrMalformed)
	case b[3] != version:
		return fmt.Errorf("%w: of version %d, and %d is known", ErrMalformed, b[3], version)
	case b[2] != byte(k):
		return fmt.Errorf("%w: of kind %q where %q is expected", ErrMalformed, b[2], byte(k))
	}
	return nil
}

// decoder reads bytes in memory. When it has failed, it returns zeros.
type decoder struct {
	b      []byte
	at     int
	failed bool
}

func (d *decoder) malformed(what string) error {
	return fmt.Errorf("%w: %s end at byte %d of %d, or are wrong there", ErrMalformed, what, d.at, len(d.b))
}

func (d *decoder) byte() byte {
	if d.failed || d.at >= len(d.b) {
		d.failed = true
		return 0
	}
	d.at++
	return d.b[d.at-1]
}

func (d *decoder) number() uint64 {
	v, n := number(d.b[d.at:])
	if d.failed || n == 0 {
		d.failed = true
		return 0
	}
	d.at += n
	return v
}

func (d *decoder) uids(count int) []uid.UID {
	all := make([]uid.UID, count)
	last := uint64(0)
	for i := range all {
		last += unzigzag(d.number())
		all[i] = uid.UID(last)
	}
	return all
}

// texts returns parts of one string, because that is one allocation for all.
func (d *decoder) texts(count int) []string {
	all := make([]string, count)
	whole, from := string(d.b[d.at:]), d.at
	for i := range all {
		n := d.number()
		if d.failed || n > uint64(len(d.b)-d.at) {
			d.failed = true
			return nil
		}
		all[i] = whole[d.at-from : d.at-from+int(n)]
		d.at += int(n)
	}
	return all
}
