// Degraded answers. They are complete, but a part came from other orders, because the machines that
// own it are down. A header marks them, because measurements and caches must distinguish them.

package response

import (
	"net/http"
)

// DegradedHeader is "true" if the answer is degraded.
const DegradedHeader = "Trefoil-Degraded"

// degradable is a reader, or an answer read from one. Degraded is called when the header of the
// answer is sent. That may be before the last row is read, and after the reader is closed.
type degradable interface{ Degraded() bool }

// SetSource makes the header of the answer report whether its source is degraded.
func SetSource(w http.ResponseWriter, source degradable) {
	if r, ok := w.(*Writer); ok {
		r.source = source
	}
}

// MajorityHeader is "none" if this node answers reads without a majority.
const MajorityHeader = "Trefoil-Majority"

// describe sets the headers of a degraded answer, of one without a majority, and of one with a warning. It must be
// called right before the header is sent with a status. Errors get none.
func (w *Writer) describe(status int) {
	if w.NoMajority != nil && status < http.StatusBadRequest && w.NoMajority() {
		w.Header().Set(MajorityHeader, "none")
	}
	if w.source != nil && status < http.StatusBadRequest && w.source.Degraded() {
		w.Header().Set(DegradedHeader, "true")
	}
	if w.warning != nil && status < http.StatusBadRequest {
		if text := w.warning(); text != "" {
			w.Header().Set(WarningHeader, headerText(text))
		}
	}
}
