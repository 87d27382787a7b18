// Places: which machine owns the lists of a page under one view.

package linklists

import (
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// places remembers which machines read the lists of pages under the view of an epoch, and have
// received their URLs. Requests to such a machine need UIDs only. It has only lists with a
// single reader that was not down.
type places struct {
	epoch uint64
	of    [2]linkkeys.Recent[uid.UID, trie.MachineID] // by direction
}

// rememberedPlaces is the number of pages in each of two generations, for each direction.
const rememberedPlaces = 1 << 19

// placesUnder returns the places of a view. If the stored ones are older, it replaces them.
func (g *Reader) placesUnder(v *view.View) *places {
	for {
		now := g.places.Load()
		if now != nil && now.epoch >= v.Epoch {
			return now
		}
		next := &places{epoch: v.Epoch}
		for d := range next.of {
			next.of[d].Most = rememberedPlaces
		}
		if g.places.CompareAndSwap(now, next) {
			return next
		}
	}
}

// find calls do with the reader of each page's list, 0 if it is not remembered. do runs under a
// read lock.
func (p *places) find(d links.Direction, pages []uid.UID, do func(i int, owner trie.MachineID)) {
	of := &p.of[d]
	var again []int
	of.Mu.RLock()
	for i, u := range pages {
		owner, ok := of.Young[u]
		if !ok {
			if owner, ok = of.Old[u]; ok {
				again = append(again, i)
			}
		}
		do(i, owner)
	}
	of.Mu.RUnlock()
	for _, i := range again {
		of.Get(pages[i])
	}
}

// put remembers the reader of the lists that it replied for.
func (p *places) put(d links.Direction, lists []listRequest, replies []reply, owner trie.MachineID) {
	of := &p.of[d]
	of.Mu.Lock()
	defer of.Mu.Unlock()
	for i := range lists {
		if replies[i].state == repliedKnown && lists[i].page != 0 {
			of.Set(lists[i].page, owner)
		}
	}
}
