// Requests of operators and machines, as the leader receives them.

package leader

import (
	"cmp"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// AcceptLoss records that the loss of data is accepted.
func (l *Leader) AcceptLoss() error {
	v, err := l.view()
	if err != nil {
		return err
	}
	if len(v.Lost) == 0 {
		return fmt.Errorf("%w: nothing is lost", store.ErrInvalid)
	}
	l.wishes.wantAcceptLoss()
	l.Wake()
	return nil
}

// SetCopies records how many machines must hold each triple. It returns an error if a disk lacks room.
func (l *Leader) SetCopies(copies int) error {
	v, err := l.view()
	if err != nil {
		return err
	}
	short := view.NoRoomForCopies(v, l.grants.figures(), copies)
	if len(short) > 0 {
		return fmt.Errorf("%w: %d copies of each triple need more room on the disk of machine %s", store.ErrDiskFull, copies, short[0])
	}
	l.wishes.wantCopies(copies)
	l.Wake()
	return nil
}

// view returns the newest view. A leader that has just started again has none at first.
func (l *Leader) view() (*view.View, error) {
	if v := l.agreement.View(); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("%w: the leader has just started and has no view yet", store.ErrUnavailable)
}

// Leave records that a member must leave when the others have its data.
func (l *Leader) Leave(id trie.MachineID) error {
	v, err := l.view()
	if err != nil {
		return err
	}
	m := v.Find(id)
	if m == nil {
		return fmt.Errorf("%w: machine %s is not a member", store.ErrInvalid, id)
	}
	others := 0
	for _, o := range v.Members {
		if o.ID != id && o.State == view.Up {
			others++
		}
	}
	if m.State == view.Up && others == 0 {
		return fmt.Errorf("%w: machine %s is the last that holds data", store.ErrInvalid, id)
	}
	l.wishes.wantLeave(id)
	l.Wake()
	return nil
}

// Remove records that a member must be excluded at once, or that an excluded machine is dismissed.
func (l *Leader) Remove(id trie.MachineID) error {
	v, err := l.view()
	if err != nil {
		return err
	}
	if v.Find(id) == nil && !v.IsExcluded(id) {
		return fmt.Errorf("%w: machine %s is not a member", store.ErrInvalid, id)
	}
	if id == l.options.Self {
		return fmt.Errorf("%w: machine %s leads the cluster and runs: let it leave, or end its process first", store.ErrInvalid, id)
	}
	l.wishes.wantRemove(id)
	l.Wake()
	return nil
}

// Join records that a machine with room free bytes wants to be a member of v. waits is why it
// must wait; it is "" if it may join now.
func (l *Leader) Join(v *view.View, m view.Member, room int64) (waits string, err error) {
	if v.Find(m.ID) != nil {
		return "", nil
	}
	now := l.options.Now()
	if err := l.wishes.wantJoin(v, m, room, now); err != nil {
		return "", err
	}
	l.Wake()
	return cmp.Or(l.grants.lacksRoom(v, &m, room), l.grants.mustRest(m, now, slowRest(l.options.Lease))), nil
}

// Load records the wishes of a bulk load.
func (l *Leader) Load(w view.Wishes) {
	l.wishes.wantLoads(w)
	l.Wake()
}
