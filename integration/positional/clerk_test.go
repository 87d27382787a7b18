// The clerk: it sends each question to the machine that answers
// it.

package positional

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/weburl"
)

// Clerk answers for a store with the machines that are live. Its answers do not
// depend on which these are. It is immutable and safe for concurrent use.
type Clerk struct {
	options *Options // with hashes
	failed  Failed
	servers []*Server // by machine; nil if one has failed or serves nothing
}

// Clerk returns the clerk of the store when these machines have failed. The
// error wraps [ErrTooManyFailed] or [ErrPolicy].
func (s *Store) Clerk(failed Failed) (*Clerk, error) {
	if err := s.options.Policy.Check(failed); err != nil {
		return nil, err
	}
	c := &Clerk{options: &s.options, failed: failed}
	for _, m := range s.machines {
		server, err := m.Load(failed)
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, server)
	}
	return c, nil
}

// Degraded reports whether the secondary placement answers.
func (c *Clerk) Degraded() bool { return c.failed.Len() > 0 }

// server returns the server of a page that is in these partitions, or nil if
// there are no such partitions.
func (c *Clerk) server(primary, secondary uint64) *Server {
	policy := c.options.Policy
	if primary >= uint64(policy.Primaries()) || secondary >= uint64(policy.Secondaries()) {
		return nil
	}
	if !c.Degraded() {
		return c.servers[primary]
	}
	x, ok := policy.Machine(int(secondary), c.failed)
	if !ok {
		return nil
	}
	return c.servers[x]
}

// serverOf returns the server of the page with the UID u.
func (c *Clerk) serverOf(u UID) (*Server, error) {
	layout := c.options.Layout
	s := c.server(layout.Primary(u), layout.Secondary(u))
	if s == nil {
		return nil, fmt.Errorf("positional: page %d: there is no such partition: %w", u, ErrNoPage)
	}
	return s, nil
}

// UrlToUid returns the UID of the page with this IRI. The error wraps
// [ErrNoPage].
func (c *Clerk) UrlToUid(url string) (UID, error) {
	host := weburl.HostKey(url)
	s := c.server(uint64(c.options.PrimaryOf(host)), uint64(c.options.SecondaryOf(host)))
	if s == nil {
		return 0, fmt.Errorf("positional: UID of %.100q: there is no such partition: %w", url, ErrNoPage)
	}
	return s.UrlToUid(url)
}

// UidToUrl returns the IRI of the page with the UID u. The error wraps
// [ErrNoPage].
func (c *Clerk) UidToUrl(u UID) (string, error) {
	s, err := c.serverOf(u)
	if err != nil {
		return "", err
	}
	return s.UidToUrl(u)
}

// GetLinks returns the UIDs, ascending, of the pages that links of page u lead
// to, or come from. The slice is the caller's. The error wraps [ErrNoPage].
func (c *Clerk) GetLinks(d Direction, u UID) ([]UID, error) {
	s, err := c.serverOf(u)
	if err != nil {
		return nil, err
	}
	return s.GetLinks(d, u)
}
