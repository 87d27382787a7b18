// Room for the data of a new machine: it joins when its disk has enough.

package leader

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// shareMargin is the inverse of the margin on top of an even share of the present bytes. A
// joining machine must have room for both, because more machines need more extra replicas: up to
// a fifth more bytes. If a disk fills up in its backfill nevertheless, the machine is excluded;
// see view.Crowded.
const shareMargin = 4

// waitsForRoom is why a leader waits if it has no room for its own backfill.
const waitsForRoom = "another leader, which excludes this one, whose disk has no room for its backfill"

// withRoom returns the machines which may join now, and a text about the room the others lack. A
// machine without room must not join, because its backfill would not end and its adds would be
// refused. The lock must be held.
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

// lacksRoom returns why a machine with room bytes free must not join yet, "" if it may.
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
			bytes += g.reports[v.Members[i].ID].report.Store.Bytes
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
