// The doors for operators: /status, /metrics, /healthz, /readyz, /backup and /check.

package httpapi

import (
	"net"
	"net/http"
	"strconv"
)

func (a *API) getStatus(w http.ResponseWriter, r *request) error {
	status := a.store.Status()
	// A store alone does not know its doors: they are where this request came in.
	if here, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && len(status.Members) == 1 && status.Cluster == "" {
		status.Members[0].Address = here.String()
	}
	return writeJSON(w, status)
}

func (a *API) getMetrics(w http.ResponseWriter, r *request) error {
	a.metrics.handler.ServeHTTP(w, r.Request)
	return nil
}

// getHealth tells that the process answers.
func (a *API) getHealth(w http.ResponseWriter, _ *request) error {
	return writeWhole(w, "text/plain; charset=utf-8", []byte("ok\n"))
}

// getReady tells that the node can do its work.
func (a *API) getReady(w http.ResponseWriter, _ *request) error {
	notReady := func(message string) error {
		e := errorf(KindUnavailable, "", "%s", message)
		e.retryAfter = 1
		return e
	}
	if a.draining.Load() {
		return notReady("the node is shutting down")
	}
	if err := a.store.Err(); err != nil {
		return notReady(err.Error())
	}
	sn, err := a.store.Snapshot()
	if err != nil {
		return notReady(err.Error())
	}
	if err := sn.Close(); err != nil {
		return notReady(err.Error())
	}
	return writeWhole(w, "text/plain; charset=utf-8", []byte("ok\n"))
}

func (a *API) getBackup(w http.ResponseWriter, r *request) error {
	if !r.ProtoAtLeast(1, 1) {
		return errorf(KindVersion, "", "over HTTP/1.0 a broken backup looks complete: use HTTP/1.1")
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-tar")
	h.Set("Content-Disposition", `attachment; filename="trefoil-backup.tar"`)
	if r.Method == http.MethodHead {
		return nil
	}
	select {
	case a.backups <- struct{}{}:
		defer func() { <-a.backups }()
	default:
		return busyf("%d backups are being taken; try again when one has ended", cap(a.backups))
	}
	return a.store.Backup(r.Context(), w)
}

// getCheck verifies the whole store or cluster, which takes as long as reading it,
// and answers with what is wrong.
func (a *API) getCheck(w http.ResponseWriter, r *request) error {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "application/json")
		return nil
	}
	select {
	case a.checks <- struct{}{}:
		defer func() { <-a.checks }()
	default:
		return busyf("a check runs already; try again when it has ended")
	}
	report, err := a.store.Check(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, report)
}

// writeWhole answers with a body that is at hand.
func writeWhole(w http.ResponseWriter, contentType string, body []byte) error {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(body)
	return err
}
