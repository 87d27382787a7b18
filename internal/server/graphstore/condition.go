// Changes of graphs under a condition: If-Match and If-None-Match of requests to /data (RFC 9110,
// section 13.1). A condition can only require that a graph exists or not, because the entity
// tags of graphs are weak.

package graphstore

import (
	"context"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/store"
)

// condition must be true of a graph, or its change is not made.
type condition uint8

const (
	always     condition = iota
	ifThere              // If-Match: *
	ifNotThere           // If-None-Match: *
)

// conditionOf reads the condition of a change. If If-Match names an entity tag, it is never met; if
// If-None-Match names one, it is always met. A part of a graph must not be sent (RFC 9110, section
// 14.5).
func conditionOf(r *request.Request) (condition, error) {
	if r.Header.Get("Content-Range") != "" {
		return always, problem.Errorf(problem.KindBadRequest, "Content-Range", "a document is sent whole")
	}
	c := always
	switch match := strings.TrimSpace(strings.Join(r.Header.Values("If-Match"), ",")); match {
	case "":
	case "*":
		c = ifThere
	default:
		return always, problem.Errorf(problem.KindPrecondition, "If-Match", "the tags of graphs are weak, so none matches; nothing was changed. * asks for a graph that is there")
	}
	if strings.TrimSpace(strings.Join(r.Header.Values("If-None-Match"), ",")) == "*" {
		if c == ifThere {
			return always, problem.Errorf(problem.KindPrecondition, "If-None-Match", "If-Match wants a graph that is there, and this one that is not; nothing was changed")
		}
		c = ifNotThere
	}
	return c, nil
}

// applyIf makes a change of a graph if the condition is met. Concurrent changes see each other's
// results. So if two requests create the same graph, one fails.
func (a *API) applyIf(ctx context.Context, c condition, t graphTarget, changes store.Steps) (store.Result, error) {
	if c == always && !changes.ClearAll {
		return store.Apply(ctx, a.Store, changes)
	}
	return store.Update(ctx, a.Store, func(sn store.Reader) (store.Steps, error) {
		changes := changes
		if changes.ClearAll {
			if err := keepSystem(ctx, sn, &changes); err != nil {
				return store.Steps{}, err
			}
		}
		there, err := hasGraph(ctx, sn, t)
		switch {
		case err != nil:
			return store.Steps{}, err
		case c == ifThere && !there:
			return store.Steps{}, problem.Errorf(problem.KindPrecondition, "If-Match", "there is no graph %s; nothing was changed", t.name())
		case c == ifNotThere && there:
			return store.Steps{}, problem.Errorf(problem.KindPrecondition, "If-None-Match", "the graph %s is there; nothing was changed", t.name())
		}
		return changes, nil
	})
}
