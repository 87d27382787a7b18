// Backups and restores.

package admin

import (
	"errors"
	"io"
	"net/http"

	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// getBackup sends a full backup, or the changes since the end of an earlier one.
func (a *API) getBackup(w http.ResponseWriter, r *request.Request) error {
	// Check the request before anything is sent.
	if !r.ProtoAtLeast(1, 1) {
		return problem.Errorf(problem.KindVersion, "", "over HTTP/1.0 a broken backup looks complete: use HTTP/1.1")
	}
	if !r.Caller.AllApplications() {
		return problem.Errorf(problem.KindForbidden, "", "a backup has the annotations of all applications, and needs the operators' token")
	}
	var since feed.Position
	if text := r.Params["since"]; text != "" {
		var err error
		if since, err = feed.ParsePosition(text); err != nil || since.IsZero() {
			return problem.Errorf(problem.KindBadParameter, "since", "%v", errors.Join(feed.ErrPosition, err))
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-tar")
	h.Set("Content-Disposition", `attachment; filename="trefoil-backup.tar"`)
	if r.Method == http.MethodHead {
		return nil
	}
	select {
	case a.Backups <- struct{}{}:
		defer func() { <-a.Backups }()
	default:
		return problem.Busyf("%d backups are being taken; try again when one has ended", cap(a.Backups))
	}
	if since.IsZero() {
		return a.Store.Backup(r.Context(), w)
	}
	return backup.Increment(r.Context(), a.Store, since, a.Store.Status().Version, w)
}

// postRestore fills an empty store from backups that follow one another in the body.
func (a *API) postRestore(w http.ResponseWriter, r *request.Request) error {
	var o backup.Options
	if text := r.Params["until"]; text != "" {
		var err error
		if o.Until, err = backup.ParseUntil(text); err != nil {
			return problem.Errorf(problem.KindBadParameter, "until", "%v", err)
		}
	}
	// 1. Only an empty store may be filled, and by one restore at a time.
	select {
	case a.restoring <- struct{}{}:
		defer func() { <-a.restoring }()
	default:
		return problem.Busyf("another restore is running")
	}
	if err := a.checkEmpty(r); err != nil {
		return err
	}
	// 2. Restore the body as it arrives.
	in, err := request.Open(r, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	// The backup may have subscriptions and functions.
	n, err := backup.RestoreInto(systemgraph.WithOperator(r.Context()), a.Store, in, o)
	a.CountLoaded(r, int64(n.Triples+n.LoadRows))
	switch {
	case err == nil:
		return response.WriteJSON(w, n)
	case in.Failed() != nil:
		return in.Failed()
	case errors.Is(err, backup.ErrUntil):
		return problem.Errorf(problem.KindBadParameter, "until", "%v", err)
	case errors.Is(err, store.ErrBackup), errors.Is(err, store.ErrVersion), errors.Is(err, io.ErrUnexpectedEOF):
		return problem.Errorf(problem.KindBadRequest, "", "%v; the store may have a part of it now: empty it before the next try", err)
	}
	return err
}

// checkEmpty returns an error if the store has a triple.
func (a *API) checkEmpty(r *request.Request) error {
	sn, err := a.Store.Reader()
	if err != nil {
		return err
	}
	defer sn.Close()
	// CLEAR ALL leaves the UIDs of pages, and the backup may have others.
	mark, err := sn.Annotation(r.Context(), systemgraph.PrefixRow, systemgraph.Links)
	if err != nil {
		return err
	}
	if mark != nil {
		return problem.Errorf(problem.KindConflict, "", "the store has UIDs of pages, and the backup may have others: delete them with the operators' token (DELETE /triples?g=<%s>), or restore into an empty directory", systemgraph.IRI)
	}
	for _, err := range sn.Match(r.Context(), triple.Pattern{}, store.ReadOptions{Limit: 1}) {
		if err == nil {
			err = problem.Errorf(problem.KindConflict, "", "the store has triples, and only an empty one can be restored into: a restored state would be mixed with them")
		}
		return err
	}
	return nil
}
