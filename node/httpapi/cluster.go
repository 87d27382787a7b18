// The doors to the members of a cluster: /cluster/status, /cluster/leave,
// /cluster/remove, /cluster/accept-loss and /cluster/copies.

package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Cluster changes who is a member. An error that is [node.ErrInvalid] says that
// what is asked makes no sense, [node.ErrUnavailable] that nobody can decide now.
type Cluster interface {
	// MachineID returns that of this node.
	MachineID() trie.MachineID
	// Leave has a machine hand over what it holds, and then be a member no more. It
	// returns when that is decided; the status tells how far it is.
	Leave(ctx context.Context, id trie.MachineID) error
	// Remove gives a machine up at once, as if it had failed.
	Remove(ctx context.Context, id trie.MachineID) error
	// AcceptLoss has what is there of lost ranges count as all.
	AcceptLoss(ctx context.Context) error
	// SetCopies changes how many machines hold each triple. It returns when that is
	// decided; the status says how far it is.
	SetCopies(ctx context.Context, n int) error
	// NoMajority reports whether this node answers reads though most of the members do not
	// answer it.
	NoMajority() bool
}

var machineParams = []string{"machine"}

func (a *API) clusterDoors() map[string]*door {
	post := func(params []string, handle func(http.ResponseWriter, *request) error) *door {
		return &door{operator: true, methods: map[string]*method{http.MethodPost: {params: params, writes: true, handle: handle}}}
	}
	return map[string]*door{
		"/cluster/status": {methods: map[string]*method{http.MethodGet: {handle: a.getStatus}}},
		"/cluster/leave":  post(machineParams, a.postLeave),
		"/cluster/remove": post(machineParams, a.postRemove),

		"/cluster/accept-loss": post(nil, a.postAcceptLoss),
		"/cluster/copies":      post([]string{"copies"}, a.postCopies),
	}
}

// postLeave lets a machine go: this one where none is named.
func (a *API) postLeave(w http.ResponseWriter, r *request) error {
	return a.changeMember(w, r, func(c Cluster, id trie.MachineID) error {
		if id == 0 {
			id = c.MachineID()
		}
		return c.Leave(r.Context(), id)
	})
}

func (a *API) postRemove(w http.ResponseWriter, r *request) error {
	return a.changeMember(w, r, func(c Cluster, id trie.MachineID) error {
		if id == 0 {
			return errorf(KindBadParameter, "machine", "is missing: the ID of the machine that is given up")
		}
		return c.Remove(r.Context(), id)
	})
}

func (a *API) postAcceptLoss(w http.ResponseWriter, r *request) error {
	return a.changeMember(w, r, func(c Cluster, _ trie.MachineID) error { return c.AcceptLoss(r.Context()) })
}

// postCopies changes how many machines hold each triple.
func (a *API) postCopies(w http.ResponseWriter, r *request) error {
	return a.changeMember(w, r, func(c Cluster, _ trie.MachineID) error {
		n, err := strconv.Atoi(r.params["copies"])
		if err != nil {
			return errorf(KindBadParameter, "copies", "%q is no number of copies", r.params["copies"])
		}
		if n < recovery.MinCopies || n > recovery.MaxCopies {
			return errorf(KindBadParameter, "copies", "%d copies of each triple: it is %d to %d", n, recovery.MinCopies, recovery.MaxCopies)
		}
		return c.SetCopies(r.Context(), n)
	})
}

// changeMember changes something about the machine that a request names, and
// answers with the status that follows.
func (a *API) changeMember(w http.ResponseWriter, r *request, change func(Cluster, trie.MachineID) error) error {
	status := a.store.Status()
	if a.options.Cluster == nil || status.Cluster == "" {
		return errorf(KindConflict, "", "this node is not part of a cluster")
	}
	id, err := machineOf(r.params, status)
	if err != nil {
		return err
	}
	if err := change(a.options.Cluster, id); err != nil {
		return err
	}
	return writeJSON(w, a.store.Status())
}

// machineOf returns the member that a request names, 0 where it names none.
func machineOf(p params, status node.Status) (trie.MachineID, error) {
	text, ok := p["machine"]
	if !ok {
		return 0, nil
	}
	id, err := trie.ParseMachineID(text)
	if err != nil {
		return 0, errorf(KindBadParameter, "machine", "%v", err)
	}
	var members []string
	for _, m := range status.Members {
		if m.ID == id.String() {
			return id, nil
		}
		members = append(members, m.ID)
	}
	return 0, errorf(KindNotFound, "machine", "%s is no member; members are %s", id, strings.Join(members, ", "))
}
