// Changes of graphs under a condition: If-Match and If-None-Match of requests to
// /data (RFC 9110, section 13.1). Graphs have no entity tags, so what can be asked
// is whether there is one.

package httpapi

import (
	"context"
	"strings"

	"github.com/trefoildb/trefoil/node"
)

// condition is what has to be true of a graph for its change to be made.
type condition uint8

const (
	always     condition = iota
	ifThere              // If-Match: *
	ifNotThere           // If-None-Match: *
)

// conditionOf reads the condition of a change. One on an entity tag cannot be met
// by If-Match, and always is by If-None-Match. A part of a graph cannot be sent
// (RFC 9110, section 14.5).
func conditionOf(r *request) (condition, error) {
	if r.Header.Get("Content-Range") != "" {
		return always, errorf(KindBadRequest, "Content-Range", "a document is sent whole")
	}
	c := always
	switch match := strings.TrimSpace(strings.Join(r.Header.Values("If-Match"), ",")); match {
	case "":
	case "*":
		c = ifThere
	default:
		return always, errorf(KindPrecondition, "If-Match", "graphs have no entity tags, so none matches; nothing was changed. * asks for a graph that is there")
	}
	if strings.TrimSpace(strings.Join(r.Header.Values("If-None-Match"), ",")) == "*" {
		if c == ifThere {
			return always, errorf(KindPrecondition, "If-None-Match", "If-Match wants a graph that is there, and this one that is not; nothing was changed")
		}
		c = ifNotThere
	}
	return c, nil
}

// applyIf makes a change of a graph if the condition is met. Of several such
// changes at once each sees what the one before has left, so that of two requests
// that make one graph one fails.
func (a *API) applyIf(ctx context.Context, c condition, t graphTarget, changes node.Changes) (node.ApplyResult, error) {
	if c == always {
		return a.store.Apply(ctx, changes)
	}
	return a.store.Update(ctx, func(sn Snapshot) (node.Changes, error) {
		there, err := hasGraph(ctx, sn, t)
		switch {
		case err != nil:
			return node.Changes{}, err
		case c == ifThere && !there:
			return node.Changes{}, errorf(KindPrecondition, "If-Match", "there is no graph %s; nothing was changed", t.name())
		case c == ifNotThere && there:
			return node.Changes{}, errorf(KindPrecondition, "If-None-Match", "the graph %s is there; nothing was changed", t.name())
		}
		return changes, nil
	})
}
