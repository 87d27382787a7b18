// Parts of the package that its tests with whole nodes use.

package upkeep

import (
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Methods between nodes.
const (
	MethodBounds = methodBounds
	MethodFloors = methodFloors
	MethodPurge  = methodPurge
	MethodLook   = methodLook
	MethodRepair = methodRepair
	MethodCheck  = methodCheck
)

// Functions of messages and comparisons.
var (
	CodeRepair = codeRepair
	TableOf    = tableOf
	Same       = allEqual
	Cause      = cause
)

// SlotState is the content of one place.
type SlotState = slotState

// Live reports whether the place has the triple.
func (s *slotState) Live() bool { return s.live() }

// Slot returns the place.
func (s *slotState) Slot() recovery.Place { return s.slot }

// Value returns the row's value.
func (s *slotState) Value() []byte { return s.value }

// CallMember sends a message to a member, which may be this one.
func (u *Upkeep) CallMember(ctx context.Context, epoch uint64, to trie.MachineID, method string, body []byte) ([]byte, error) {
	return u.call(ctx, epoch, to, method, body)
}

// FetchBounds returns the floors of all members.
func (u *Upkeep) FetchBounds(ctx context.Context, v *view.View) (replica.Floors, uint64, error) {
	return u.fetchBounds(ctx, v)
}

// During returns a context that ends with an epoch.
func (u *Upkeep) During(ctx context.Context, epoch uint64) (context.Context, context.CancelFunc) {
	return u.gate.EpochContext(ctx, epoch)
}

// States reads all places of a triple.
func (u *Upkeep) States(ctx context.Context, v *view.View, spo []byte, slots []recovery.Place) (number uint64, states []SlotState, err error) {
	c := &comparison{scrubber: u.scrubber, view: v}
	number, all, err := c.lookAt(ctx, []suspect{{spo: spo, slots: slots}}, []int{0})
	return number, all[0], err
}
