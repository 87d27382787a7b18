// Room for what a machine is to hold: it joins when its disk has enough.

package cluster

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// shareMargin is how much more than an even share of the bytes of today a joining machine
// must have room for, as 1/shareMargin of it. With more machines there are more extra
// replicas: up to a fifth more bytes. A machine whose disk fills up in its backfill
// nevertheless is excluded; see view.Crowded.
const shareMargin = 4

// waitsForRoom is what a leader waits for that has no room for its own backfill.
const waitsForRoom = "another leader, which excludes this one, whose disk has no room for its backfill"

// withRoom returns the machines that may join now, and says of the others how much room
// they lack. Without room a machine would keep its backfill from ending, and have all adds
// refused that it is to hold. The lock is held.
func (g *grants) withRoom(v *view.View, join []view.Member, room func(trie.MachineID) int64) (in []view.Member, crowded string) {
	var waits []string
	for i := range join {
		if why := g.lacksRoomLocked(v, &join[i], room(join[i].ID)); why != "" {
			waits = append(waits, why)
			continue
		}
		in = append(in, join[i])
	}
	return in, strings.Join(waits, "; ")
}

// lacksRoom says why a machine with so many bytes free cannot join yet, "" if it can.
func (g *grants) lacksRoom(v *view.View, m *view.Member, room int64) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lacksRoomLocked(v, m, room)
}

func (g *grants) lacksRoomLocked(v *view.View, m *view.Member, room int64) string {
	if m.State == view.Spare || v.Find(m.ID) != nil {
		return ""
	}
	up, bytes := int64(1), int64(0)
	for i := range v.Members {
		if v.Members[i].State != view.Spare {
			bytes += g.heard[v.Members[i].ID].report.Store.Bytes
		}
		if v.Members[i].State == view.Up {
			up++
		}
	}
	share := bytes / up
	share += share / shareMargin
	if room > share {
		return ""
	}
	return fmt.Sprintf("machine %s at %s joins when its disk has room: its share is about %d MiB, and %d MiB are free above its watermark. "+
		"Make room there; if the cluster is whole, what was set aside in its directory (aside) may be deleted", m.ID, m.Address, share>>20+1, room>>20)
}
