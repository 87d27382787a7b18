// Who reads the lists of pages, under one view.

package ranges

import (
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// places remembers which machines read the lists of pages under the view of an epoch,
// and were told the URLs of these: such a machine is asked by UIDs alone. Only lists
// that one machine reads, which was no dead one, are there.
type places struct {
	epoch uint64
	of    [2]recent[uid.UID, trie.MachineID] // by direction
}

// rememberedPlaces is how many pages are remembered, in each of two generations and
// directions.
const rememberedPlaces = 1 << 19

// placesOf returns what is remembered under a view.
func (g *Graph) placesOf(v *view.View) *places {
	for {
		now := g.places.Load()
		if now != nil && now.epoch >= v.Epoch {
			return now
		}
		next := &places{epoch: v.Epoch}
		for d := range next.of {
			next.of[d].most = rememberedPlaces
		}
		if g.places.CompareAndSwap(now, next) {
			return next
		}
	}
}

// find calls do with who reads the lists of pages, 0 where that is not remembered.
func (p *places) find(d links.Direction, pages []uid.UID, do func(i int, owner trie.MachineID)) {
	of := &p.of[d]
	var again []int
	of.mu.RLock()
	for i, u := range pages {
		owner, ok := of.young[u]
		if !ok {
			if owner, ok = of.old[u]; ok {
				again = append(again, i)
			}
		}
		do(i, owner)
	}
	of.mu.RUnlock()
	for _, i := range again {
		of.get(pages[i])
	}
}

// put remembers that a machine read some lists, those that it told of.
func (p *places) put(d links.Direction, lists []askedList, replies []reply, owner trie.MachineID) {
	of := &p.of[d]
	of.mu.Lock()
	defer of.mu.Unlock()
	for i := range lists {
		if replies[i].state == repliedKnown && lists[i].page != 0 {
			of.set(lists[i].page, owner)
		}
	}
}
