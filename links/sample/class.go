// This file holds the classes of links, and how a link's class is told.

package sample

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/uid"
)

// Class says which links of a page may be drawn. The zero value is [All].
type Class uint8

const (
	// All is every link, also one from a page to itself.
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

// Hosts tells hosts and registered domains apart by numbers, of any kind: two
// extents are of one host if Host gives the same number for both. Extents of
// one host must be of one domain.
type Hosts interface {
	Host(uid.Extent) uint64
	Domain(uid.Extent) uint64
}

// Classes tells the classes of one page's links. The zero value serves for
// [All] only: it takes every link for one within a host.
type Classes struct {
	hosts  Hosts
	extent uid.Extent // of the page
	host   uint64
	domain uint64
}

// ClassesOf returns what tells the classes of the links of page.
func ClassesOf(hosts Hosts, page uid.UID) Classes {
	e := page.Extent()
	return Classes{hosts: hosts, extent: e, host: hosts.Host(e), domain: hosts.Domain(e)}
}

// Of returns the narrowest class of the links between the page and pages of
// extent e.
func (c Classes) Of(e uid.Extent) Class {
	switch {
	case c.hosts == nil || e == c.extent || c.hosts.Host(e) == c.host:
		return All
	case c.hosts.Domain(e) == c.domain:
		return InterHost
	}
	return InterDomain
}

// Run returns how many of the first links are to pages of one extent, and their
// class. links is ascending and not empty. O(log of the length).
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
	return above, c.Of(links[0].Extent())
}
