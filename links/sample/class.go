// Classes of links, and the class of a link.

package sample

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/uid"
)

// Class selects the links of a page for a sample. The zero value is [All].
type Class uint8

const (
	// All is every link, including one from a page to itself.
	All Class = iota
	// InterHost is the links between pages of two hosts.
	InterHost
	// InterDomain is the links between pages of two registered domains.
	InterDomain
)

const numClasses = 3

// String returns all, inter-host or inter-domain.
func (c Class) String() string {
	switch c {
	case All:
		return "all"
	case InterHost:
		return "inter-host"
	case InterDomain:
		return "inter-domain"
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// ParseClass returns the class with this name.
func ParseClass(name string) (Class, error) {
	for c := range Class(numClasses) {
		if c.String() == name {
			return c, nil
		}
	}
	return All, fmt.Errorf("sample: no class of links is called %q: choose all, inter-host or inter-domain", name)
}

// Hosts returns numbers of hosts and registered domains. Two extents are of one host if Host
// returns the same number for both. Extents of one host must be of one domain. The numbers have
// no other meaning.
type Hosts interface {
	Host(uid.Extent) uint64
	Domain(uid.Extent) uint64
}

// Classes returns the classes of one page's links. If it is the zero value, every link counts as
// one within a host, so it serves for [All] only.
type Classes struct {
	hosts  Hosts
	extent uid.Extent // of the page
	host   uint64
	domain uint64
}

// ClassesOf returns the Classes of page.
func ClassesOf(hosts Hosts, page uid.UID) Classes {
	e := page.Extent()
	return Classes{hosts: hosts, extent: e, host: hosts.Host(e), domain: hosts.Domain(e)}
}

// Narrowest returns the narrowest class of the links between the page and pages of extent e.
func (c Classes) Narrowest(e uid.Extent) Class {
	switch {
	case c.hosts == nil || e == c.extent || c.hosts.Host(e) == c.host:
		return All
	case c.hosts.Domain(e) == c.domain:
		return InterHost
	}
	return InterDomain
}

// Run returns the number of links at the front to pages of one extent, and their class. links
// must be ascending and not empty. It needs O(log of the length).
func (c Classes) Run(links []uid.UID) (length int, class Class) {
	last := links[0].Extent().Range().Last
	below, above := 0, 1 // links[below] <= last; links[above] > last, or it is the end
	for above < len(links) && links[above] <= last {
		below, above = above, 2*above+1
	}
	above = min(above, len(links))
	for below+1 < above {
		if middle := int(uint(below+above) / 2); links[middle] <= last {
			below = middle
		} else {
			above = middle
		}
	}
	return above, c.Narrowest(links[0].Extent())
}
