// Partitions of the space of UIDs.

package machine

import (
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// The slots are divided into partitions of the same number of slots. A cell never spans two of
// them, so that a partition moves by moving its cells.
const (
	NumPartitions  = 64
	PartitionSlots = uid.NumSlots / NumPartitions
	partitionShift = 64 - 6
	AllPartitions  = derived.Partitions(1<<NumPartitions - 1)
	firstSlotShift = uid.SlotBits - 6
)

// PartitionOf returns the partition of a UID.
func PartitionOf(u uid.UID) int { return int(u >> partitionShift) }

// PartitionOfURL returns the partition of a page's host.
func PartitionOfURL(url string) int { return int(uid.SlotOf(weburl.HostKey(url)) >> firstSlotShift) }

// PartitionRange returns the UIDs of a partition.
func PartitionRange(p int) uid.Range {
	return uid.Slots{First: uid.Slot(p * PartitionSlots), Last: uid.Slot((p+1)*PartitionSlots - 1)}.Range()
}
