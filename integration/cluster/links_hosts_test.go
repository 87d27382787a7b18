// Hosts of pages, as samples need them.

package cluster

import (
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// extentHosts are the hosts and domains of extents, as numbers (sample.Hosts).
type extentHosts map[uid.Extent][2]uint64

func (h extentHosts) Host(e uid.Extent) uint64   { return h[e][0] }
func (h extentHosts) Domain(e uid.Extent) uint64 { return h[e][1] }

// hostsOf returns the hosts of the extents of pages.
func hostsOf(pages map[string]uid.UID) extentHosts {
	h, numbers := extentHosts{}, map[string]uint64{}
	number := func(name string) uint64 {
		if numbers[name] == 0 {
			numbers[name] = uint64(len(numbers) + 1)
		}
		return numbers[name]
	}
	for url, u := range pages {
		key := weburl.HostKey(url)
		h[u.Extent()] = [2]uint64{number(key), number("domain " + weburl.Domain(key))}
	}
	return h
}
