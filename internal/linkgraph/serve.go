// Answers to the queries of other machines.

package linkgraph

import (
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerank"
	"github.com/trefoildb/trefoil/internal/linkgraph/read"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/linkgraph/update"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// server answers the queries of other machines.
type server struct {
	*machine.Machine
	board       *state.Board
	assigner    *assign.Assigner
	loader      *keep.Loader
	sampler     *read.Sampler
	replacer    *update.Replacer
	coordinator *pagerank.Coordinator
	exports     keep.Exports
}

// handle registers the handler of queries.
func (sv *server) handle() {
	sv.coordinator.HandleRanks()
	sv.Node.Handle(route.MethodQuery, func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
		q := &route.Query{}
		if err := peer.Decode(body, q.Fields); err != nil {
			return nil, err
		}
		a, err := sv.answer(ctx, q)
		if err != nil {
			return nil, route.Refusal(err)
		}
		return peer.Encode(64+10*len(a.Items), a.Fields), nil
	})
}

// answer answers a query.
func (sv *server) answer(ctx context.Context, q *route.Query) (*route.Answer, error) {
	// 1. Queries that need no state at a position.
	switch q.Kind {
	case route.QueryHeld:
		a := &route.Answer{}
		if s := sv.board.State.Load(); s != nil {
			a.Number = uint64(s.Held)
		}
		if full := sv.board.Full.Load(); full != nil {
			a.Texts = []string{(*full).Error()}
		}
		return a, nil
	case route.QueryAnnotated:
		a := &route.Answer{}
		if sv.Node.Annotated() {
			a.Number = 1
		}
		return a, nil
	case route.QueryAssign:
		uids, given, err := sv.assigner.Assign(ctx, q.URLs)
		return &route.Answer{Items: route.NumbersFrom(uids), Number: uint64(given)}, err
	case route.QueryReplace:
		return sv.replacer.AnswerReplace(ctx, q)
	case route.QueryStores:
		one, err := sv.loader.ChangeStores(ctx, cell.Stores(q.Number)&cell.AllStores, cell.Stores(q.Most)&cell.AllStores)
		return route.AnswerJSON(one, err)
	}
	// 2. The others need all changes up to the position.
	waiting := ctx
	if q.Kind != route.QueryExport { // nobody else has the partition to send
		short, cancel := readtimeout.BoundStep(ctx)
		defer cancel()
		waiting = short
	}
	s, err := sv.board.Await(waiting, q.At)
	if err != nil {
		return nil, err
	}
	switch q.Kind {
	case route.QueryEpoch:
		return &route.Answer{Number: sv.board.EpochOf(s)}, nil
	case route.QueryExport:
		if q.Most == 0 && q.Number < machine.NumPartitions {
			if s, err = sv.loader.LoadStores(ctx, s, cell.AllStores, derived.Partitions(0).With(int(q.Number)), false); err != nil {
				return nil, err
			}
		}
		return sv.exports.Piece(s, q)
	}
	if !holdsPages(s, q) {
		return nil, sv.ErrNotHeld()
	}
	return sv.answerHeld(ctx, s, q)
}

// holdsPages reports whether a state holds all pages of a query.
func holdsPages(s *state.State, q *route.Query) bool {
	// Each kind names its partitions in another way.
	switch q.Kind {
	case route.QueryUIDs:
		for _, url := range q.URLs {
			if !s.Held.Has(machine.PartitionOfURL(url)) {
				return false
			}
		}
	case route.QueryWithin, route.QueryWeights:
		// The set may have pages of others, but a machine without any cell cannot look them up.
		return len(s.Parts) > 0 && s.HasAll(q.Pages)
	case route.QueryPages:
		return q.Number < machine.NumPartitions && len(q.Pages) == 1 && s.Held.Has(int(q.Number))
	case route.QueryStats:
		return derived.Partitions(q.Number)&^s.Held == 0
	default:
		return len(q.Pages) > 0 && s.HasAll(q.Pages)
	}
	return true
}

// answerHeld answers a query about held pages.
func (sv *server) answerHeld(ctx context.Context, s *state.State, q *route.Query) (*route.Answer, error) {
	// 1. Lists of pages.
	switch q.Kind {
	case route.QueryLinks:
		most := sv.Options.MessageLinks()
		if q.Most != 0 {
			most = int(min(q.Most, uint64(most)))
		}
		l, more, err := s.LinksPiece(ctx, q.Direction, q.Pages, uid.UID(q.After), most)
		return &route.Answer{Ends: l.Ends, Items: route.NumbersFrom(l.Items), More: uint64(more)}, err
	case route.QueryDegrees:
		degrees, err := s.Degrees(ctx, q.Direction, q.Pages)
		return route.SinglesFrom(degrees), err
	case route.QuerySample:
		l, err := sv.sampler.SamplesPiece(ctx, s, q, sv.Options.MessageLinks())
		return &route.Answer{Ends: l.Ends, Items: route.NumbersFrom(l.Items)}, err
	case route.QueryLabels:
		l, more, err := s.LabelsPiece(ctx, q.Pages, uid.UID(q.After), sv.Options.MessageBytes)
		return &route.Answer{Ends: l.Ends, Texts: l.Items, More: uint64(more)}, err
	case route.QueryWithin, route.QueryWeights:
		return sv.answerWithin(ctx, s, q)
	case route.QueryLinkLabels:
		if len(q.Set) != len(q.Pages) {
			return nil, peer.ErrMessage
		}
		texts, err := s.LinkLabelsPiece(ctx, q.Pages, q.Set, sv.Options.MessageBytes)
		return &route.Answer{Ends: route.Singles(texts).Ends, Texts: texts}, err
	}
	// 2. Pages, and their sizes.
	switch q.Kind {
	case route.QueryUIDs:
		uids, err := s.UIDs(ctx, q.URLs)
		return route.SinglesFrom(uids), err
	case route.QueryURLs:
		urls, err := s.URLsPiece(ctx, q.Pages, sv.Options.MessageBytes)
		return &route.Answer{Ends: route.Singles(urls).Ends, Texts: urls}, err
	case route.QueryPages:
		pages, err := s.Pages(ctx, int(q.Number), q.Pages[0], int(min(q.Most, 1<<62)))
		return &route.Answer{Ends: []int{len(pages)}, Items: route.NumbersFrom(pages)}, err
	case route.QueryStats:
		a, err := route.AnswerJSON(s.Stats(ctx, derived.Partitions(q.Number)))
		if err != nil {
			return nil, err
		}
		a.Ends, a.Texts = read.OnFirst(0, derived.Partitions(q.Number).Len()).Ends, []string{sv.Node.MachineID().String()}
		return a, nil
	}
	return nil, peer.Refuse(peer.CodeUnavailable, 0, "this release does not know query %d", q.Kind)
}

// answerWithin answers with the links of pages of a set among the set.
func (sv *server) answerWithin(ctx context.Context, s *state.State, q *route.Query) (*route.Answer, error) {
	// 1. Make the set again: its numbers are those of the sender.
	var set rank.Set
	set.Reserve(len(q.Set))
	for _, u := range q.Set {
		set.Add(u)
	}
	items := make([]int, len(q.Pages))
	for i, u := range q.Pages {
		number, ok := set.Find(u)
		if !ok {
			return nil, peer.ErrMessage
		}
		items[i] = int(number)
	}
	// 2. Read the lists.
	if q.Kind == route.QueryWeights {
		l, err := sv.sampler.WeightsWithin(ctx, s, &set, q.Spec.Class)
		return read.AnswerWeights(route.PickLists(l, items)), err
	}
	l, err := sv.sampler.LinksWithin(ctx, s, &set, q.Spec.Class)
	l = route.PickLists(l, items)
	return &route.Answer{Ends: l.Ends, Items: route.NumbersFrom(l.Items)}, err
}
