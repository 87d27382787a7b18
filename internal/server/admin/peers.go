// The other members of a cluster, for answers that have a part of each.

package admin

import (
	"context"
	"encoding/json"

	"github.com/trefoildb/trefoil/internal/api"
)

// Cluster is a cluster as one of its members sees it.
type Cluster interface {
	Members
	Peers
}

// Peers sends messages to the other members of a cluster.
type Peers interface {
	// Address returns the address of this machine for others.
	Address() string
	// EachMember sends a message to all other members at the same time. It calls take once for each, one call at a
	// time, with its answer or the reason why there is none. The error is [store.ErrUnavailable] if this machine does not
	// know the others yet.
	EachMember(ctx context.Context, method string, body []byte, take func(m api.Member, answer []byte, err error)) error
	// AnswerMembers makes h answer a method for other members.
	AnswerMembers(method string, h func(ctx context.Context, body []byte) ([]byte, error))
}

// Methods between members.
const (
	methodQueries   = "operations/queries"
	methodStopQuery = "operations/stop"
	methodActivity  = "operations/activity"
)

// selfMachine names this machine.
func (a *API) selfMachine() api.MemberName {
	if a.cluster == nil {
		return api.MemberName{}
	}
	return api.MemberName{Machine: a.cluster.MachineID().String(), Node: a.cluster.Address()}
}

// answerMembers registers the answers to other members.
func (a *API) answerMembers() {
	if a.cluster == nil {
		return
	}
	a.cluster.AnswerMembers(methodQueries, func(context.Context, []byte) ([]byte, error) { return json.Marshal(a.localQueries()) })
	a.cluster.AnswerMembers(methodStopQuery, a.answerStop)
	a.cluster.AnswerMembers(methodActivity, func(context.Context, []byte) ([]byte, error) {
		all, err := a.localActivity()
		if err != nil {
			return nil, err
		}
		return json.Marshal(all)
	})
}

// eachPeer sends the same message to all other members, and calls take with the part of each, one call at a time. It
// returns those without one, sorted by address.
func eachPeer[T any](ctx context.Context, a *API, method string, body []byte, take func(api.MemberName, T)) (missing []api.AbsentMember, err error) {
	if a.cluster == nil {
		return nil, nil
	}
	err = a.cluster.EachMember(ctx, method, body, func(m api.Member, answer []byte, err error) {
		var part T
		if err == nil {
			err = json.Unmarshal(answer, &part)
		}
		from := api.MemberName{Machine: m.ID, Node: m.Address}
		if err != nil {
			missing = append(missing, api.AbsentMember{MemberName: from, Error: err.Error()})
			return
		}
		take(from, part)
	})
	sortByNode(missing, func(m api.AbsentMember) api.MemberName { return m.MemberName })
	return missing, err
}
