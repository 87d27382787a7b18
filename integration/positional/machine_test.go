// One machine: the data on its disk, and how it answers from the
// one partition that it has in memory.

package positional

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/links/weburl"
)

var (
	// ErrNoPage says that no page has this IRI or UID.
	ErrNoPage = errors.New("no such page")
	// ErrNoCopy says that a machine does not have what it is to serve.
	ErrNoCopy = errors.New("the partition is not on the machine's disk")
)

// Direction says which links of a page are meant.
type Direction uint8

const (
	// Forward links go from the page.
	Forward Direction = 0
	// Backward links go to the page.
	Backward Direction = 1
)

// partition is the pages of a partition by their places, and their links in the
// placement that the partition is of.
type partition struct {
	urls  []string // ascending by weburl.Compare
	lists [2]lists // by Direction
}

// lists are the lists of links of the pages of a partition, by their places.
type lists struct {
	data []byte
	ends []int // of each list in data
}

// at returns the coding of the list of the page at a place.
func (l *lists) at(place uint64) []byte {
	start := 0
	if place > 0 {
		start = l.ends[place-1]
	}
	return l.data[start:l.ends[place]]
}

// Machine is the disk of a machine: copies of partitions, and the tables that
// translate. It is immutable.
type Machine struct {
	options *Options // with hashes
	number  int
	disk    map[Part]*partition
	in      map[int]PrimToSec // by the secondary partitions on the disk
	out     SecToPrim
}

// Server is a machine with a partition in memory. It is immutable and safe for
// concurrent use. Clients and servers exchange primary UIDs only.
type Server struct {
	options *Options // with hashes
	part    Part
	data    *partition
	in      PrimToSec // of this secondary partition alone
	out     SecToPrim
}

// Load returns the machine as it serves when these machines have failed. It is
// nil, without an error, if the machine has failed or has nothing to serve. The
// errors wrap those of [Policy.Check], or [ErrNoCopy].
func (m *Machine) Load(failed Failed) (*Server, error) {
	if err := m.options.Policy.Check(failed); err != nil {
		return nil, err
	}
	part, ok := m.options.Policy.Memory(m.number, failed)
	if !ok {
		return nil, nil
	}
	data := m.disk[part]
	if data == nil {
		return nil, fmt.Errorf("positional: machine %d is to serve %s with %s failed: %w", m.number, part, failed, ErrNoCopy)
	}
	s := &Server{options: m.options, part: part, data: data}
	if part.Secondary {
		s.in, s.out = m.in[part.Number], m.out
	}
	return s, nil
}

// Part returns the partition that the server has in memory.
func (s *Server) Part() Part { return s.part }

// UrlToUid returns the primary UID of the page with this IRI. The error wraps
// [ErrNoPage].
func (s *Server) UrlToUid(url string) (UID, error) {
	place, found := slices.BinarySearchFunc(s.data.urls, url, weburl.Compare)
	host := weburl.HostKey(url)
	primary, secondary := s.options.PrimaryOf(host), s.options.SecondaryOf(host)
	if found && !s.part.Secondary {
		return s.options.Layout.Make(primary, secondary, uint64(place)), nil
	}
	if found {
		if u, ok := s.out.Translate(s.options.Layout.Make(primary, secondary, uint64(place))); ok {
			return u, nil
		}
	}
	return 0, fmt.Errorf("positional: UID of %.100q in %s: %w", url, s.part, ErrNoPage)
}

// UidToUrl returns the IRI of the page with the primary UID u. The error wraps
// [ErrNoPage].
func (s *Server) UidToUrl(u UID) (string, error) {
	own, err := s.find(u)
	if err != nil {
		return "", err
	}
	return s.data.urls[s.options.Layout.Relative(own)], nil
}

// GetLinks returns the primary UIDs, ascending, of the pages that links of the
// page with the primary UID u lead to, or come from. The slice is the caller's.
// The error wraps [ErrNoPage], or [ErrCorrupt] if the list is damaged.
func (s *Server) GetLinks(d Direction, u UID) ([]UID, error) {
	own, err := s.find(u)
	if err != nil {
		return nil, err
	}
	list := s.data.lists[d&1].at(s.options.Layout.Relative(own))
	targets, err := DecodeList(nil, own, list)
	if err != nil || !s.part.Secondary {
		return targets, err
	}
	// The order stays: UIDs with the same partitions are in the order of pages in
	// both placements.
	for i, v := range targets {
		target, ok := s.out.Translate(v)
		if !ok {
			return nil, fmt.Errorf("positional: links of %d in %s: no host of %d: %w", u, s.part, v, ErrCorrupt)
		}
		targets[i] = target
	}
	return targets, nil
}

// find returns the UID, in the placement of the partition in memory, of the
// page with the primary UID u. The page is there.
func (s *Server) find(u UID) (UID, error) {
	layout := s.options.Layout
	own, ok := u, layout.Primary(u) == uint64(s.part.Number)
	if s.part.Secondary {
		own, ok = s.in.Translate(u)
	}
	if !ok || layout.Relative(own) >= uint64(len(s.data.urls)) || !s.isPage(u, own) {
		return 0, fmt.Errorf("positional: page %d in %s: %w", u, s.part, ErrNoPage)
	}
	return own, nil
}

// isPage reports whether the page at own's place has the primary UID u. It does
// not if u is made up: of a host that is elsewhere, or behind a host's last page.
func (s *Server) isPage(u, own UID) bool {
	layout := s.options.Layout
	if s.part.Secondary {
		back, ok := s.out.Translate(own)
		return ok && back == u
	}
	host := weburl.HostKey(s.data.urls[layout.Relative(own)])
	return layout.Secondary(u) == uint64(s.options.SecondaryOf(host))
}
