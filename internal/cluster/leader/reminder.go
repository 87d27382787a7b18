// The leader's reminder of machines that were excluded and did not come back.

package leader

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
)

// reminderInterval is the time between two warnings of the same excluded machines.
const reminderInterval = time.Hour

// reminder warns of excluded machines: when they change, and again after an interval. The zero
// value is ready to use.
type reminder struct {
	excluded []view.Excluded // of the last warning
	at       time.Duration
}

// remind logs the excluded machines of a view if a warning is due.
func (r *reminder) remind(v *view.View, now time.Duration, log *slog.Logger) {
	if slices.Equal(v.Excluded, r.excluded) && (len(v.Excluded) == 0 || now-r.at < reminderInterval) {
		return
	}
	r.excluded, r.at = v.Excluded, now
	for _, e := range v.Excluded {
		log.Warn("the cluster runs without a machine: start it again, or dismiss it by trefoil cluster remove",
			"machine", e.ID, "address", e.Address, "since", fmt.Sprintf("epoch %d", e.Epoch), "reason", e.Why)
	}
}
