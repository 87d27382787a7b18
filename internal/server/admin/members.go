// The members of a cluster: /cluster/status, /cluster/activity, /cluster/leave, /cluster/remove, /cluster/accept-loss
// and /cluster/copies.

package admin

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Members changes the members of a cluster. The error is [store.ErrInvalid] if the change is
// impossible, and [store.ErrUnavailable] if it cannot be decided now. A call returns when the
// change is decided; the status reports its progress.
type Members interface {
	// MachineID returns the ID of this machine.
	MachineID() trie.MachineID
	// CutOff returns why this machine answers nothing: it has neither a lease nor a leader. It returns nil if it may
	// answer.
	CutOff() error
	// Leave makes a machine hand over its data before it stops being a member.
	Leave(ctx context.Context, id trie.MachineID) error
	// Remove excludes a machine at once, as if it had failed.
	Remove(ctx context.Context, id trie.MachineID) error
	// AcceptLoss declares the rest of lost ranges complete.
	AcceptLoss(ctx context.Context) error
	// SetCopies changes the number of copies of each triple.
	SetCopies(ctx context.Context, n int) error
}

var machineParams = []string{"machine"}

func (a *API) clusterTable() endpoint.Table {
	post := func(params []string, handle endpoint.Handler) *endpoint.Path {
		return &endpoint.Path{Methods: map[string]*endpoint.Method{http.MethodPost: {Params: params, Writes: true, Handle: handle}}}
	}
	return endpoint.Table{
		"/cluster/activity": endpoint.Get(a.getActivity),

		"/cluster/status": {Methods: map[string]*endpoint.Method{http.MethodGet: {Handle: a.getStatus}}},
		"/cluster/leave":  post(machineParams, a.postLeave),
		"/cluster/remove": post(machineParams, a.postRemove),

		"/cluster/accept-loss": post(nil, a.postAcceptLoss),
		"/cluster/copies":      post([]string{"copies"}, a.postCopies),
	}
}

// postLeave makes a machine leave: this one if the request names none.
func (a *API) postLeave(w http.ResponseWriter, r *request.Request) error {
	return a.changeMember(w, r, func(c Members, id trie.MachineID) error {
		if id == 0 {
			id = c.MachineID()
		}
		return c.Leave(r.Context(), id)
	})
}

func (a *API) postRemove(w http.ResponseWriter, r *request.Request) error {
	return a.changeMember(w, r, func(c Members, id trie.MachineID) error {
		if id == 0 {
			return problem.Errorf(problem.KindBadParameter, "machine", "is missing: the ID of the machine that is given up")
		}
		return c.Remove(r.Context(), id)
	})
}

func (a *API) postAcceptLoss(w http.ResponseWriter, r *request.Request) error {
	return a.changeMember(w, r, func(c Members, _ trie.MachineID) error { return c.AcceptLoss(r.Context()) })
}

// postCopies changes the number of copies of each triple.
func (a *API) postCopies(w http.ResponseWriter, r *request.Request) error {
	return a.changeMember(w, r, func(c Members, _ trie.MachineID) error {
		n, err := strconv.Atoi(r.Params["copies"])
		if err != nil {
			return problem.Errorf(problem.KindBadParameter, "copies", "%q is no number of copies", r.Params["copies"])
		}
		if n < recovery.MinCopies || n > recovery.MaxCopies {
			return problem.Errorf(problem.KindBadParameter, "copies", "%d copies of each triple: it is %d to %d", n, recovery.MinCopies, recovery.MaxCopies)
		}
		return c.SetCopies(r.Context(), n)
	})
}

// changeMember calls change with the machine of a request, and answers with the status after that.
func (a *API) changeMember(w http.ResponseWriter, r *request.Request, change func(Members, trie.MachineID) error) error {
	status := a.Store.Status()
	if a.cluster == nil || status.Cluster == "" {
		return problem.Errorf(problem.KindConflict, "", "this node is not part of a cluster")
	}
	id, err := machineOf(r.Params, status)
	if err != nil {
		return err
	}
	if err := change(a.cluster, id); err != nil {
		return err
	}
	return response.WriteJSON(w, a.Store.Status())
}

// machineOf returns the member or excluded machine named by a request; 0 if it names none.
func machineOf(p request.Params, status api.Status) (trie.MachineID, error) {
	text, ok := p["machine"]
	if !ok {
		return 0, nil
	}
	id, err := trie.ParseMachineID(text)
	if err != nil {
		return 0, problem.Errorf(problem.KindBadParameter, "machine", "%v", err)
	}
	var members []string
	for _, m := range status.Members {
		if m.ID == id.String() {
			return id, nil
		}
		members = append(members, m.ID)
	}
	for _, m := range status.Excluded {
		if m.ID == id.String() {
			return id, nil // it can be dismissed
		}
	}
	return 0, problem.Errorf(problem.KindNotFound, "machine", "%s is no member; members are %s", id, strings.Join(members, ", "))
}
