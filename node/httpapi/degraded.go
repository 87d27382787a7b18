// Degraded answers: complete ones of which something came from other orders than it
// would, because the machines that own it are away. The header tells, so that
// whoever measures or caches knows.

package httpapi

import "net/http"

// degradedHeader is set to "true".
const degradedHeader = "Trefoil-Degraded"

// degradable is a snapshot, or what is read of one, that may be degraded. It is
// asked when the header of the answer goes out, which may be before the last row
// is read and after the snapshot is closed.
type degradable interface{ Degraded() bool }

// readsFrom has the header of the answer tell whether what it is read from is
// degraded.
func readsFrom(w http.ResponseWriter, source any) {
	d, ok := source.(degradable)
	if r, is := w.(*response); ok && is {
		r.source = d
	}
}

// snapshotFor returns a snapshot that an answer is read from.
func (a *API) snapshotFor(w http.ResponseWriter) (Snapshot, error) {
	sn, err := a.store.Snapshot()
	if err == nil {
		readsFrom(w, sn)
	}
	return sn, err
}

// majorityHeader is set to "none" if this node answers reads without a majority.
const majorityHeader = "Trefoil-Majority"

// tellDegraded sets the headers, which are about to go out with a status, of an
// answer that is no error.
func (w *response) tellDegraded(status int) {
	if w.cluster != nil && status < http.StatusBadRequest && w.cluster.NoMajority() {
		w.Header().Set(majorityHeader, "none")
	}
	if w.source != nil && status < http.StatusBadRequest && w.source.Degraded() {
		w.Header().Set(degradedHeader, "true")
	}
}
