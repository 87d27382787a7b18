// Answers to the queries of other machines.

package linkgraph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// server answers the queries of other machines.
type server struct {
	*machine
	board       *board
	assigner    *assigner
	loader      *loader
	sampler     *sampler
	replacer    *replacer
	coordinator *coordinator
	exports     exports
}

// handle registers the handler of queries.
func (sv *server) handle() {
	sv.coordinator.handleRanks()
	sv.node.Handle(methodAsk, func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
		q := &query{}
		if err := peer.Decode(body, q.fields); err != nil {
			return nil, err
		}
		a, err := sv.answer(ctx, q)
		if err != nil {
			return nil, refusal(err)
		}
		return peer.Encode(64+10*len(a.items), a.fields), nil
	})
}

// refusal returns an error as a refusal if a retry may help.
func refusal(err error) error {
	var already *peer.Refusal
	switch {
	case errors.As(err, &already):
		return already
	case errors.Is(err, links.ErrLoading), errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrUnknown):
		return peer.Refuse(peer.CodeUnavailable, 0, "%v", err)
	case errors.Is(err, store.ErrClosed):
		return peer.Refuse(peer.CodeClosing, 0, "%v", err)
	}
	return err
}

// answer answers a query.
func (sv *server) answer(ctx context.Context, q *query) (*answer, error) {
	// 1. Queries that need no state at a position.
	switch q.kind {
	case askHeld:
		a := &answer{}
		if s := sv.board.state.Load(); s != nil {
			a.number = uint64(s.held)
		}
		if full := sv.board.full.Load(); full != nil {
			a.texts = []string{(*full).Error()}
		}
		return a, nil
	case askAnnotated:
		a := &answer{}
		if sv.node.Annotated() {
			a.number = 1
		}
		return a, nil
	case askAssign:
		uids, given, err := sv.assigner.assign(ctx, q.urls)
		return &answer{items: numbersFrom(uids), number: uint64(given)}, err
	case askReplace:
		return sv.replacer.answerReplace(ctx, q)
	case askStores:
		one, err := sv.loader.changeStores(ctx, cell.Stores(q.number)&cell.AllStores, cell.Stores(q.most)&cell.AllStores)
		return answerJSON(one, err)
	}
	// 2. The others need all changes up to the position.
	waiting := ctx
	if q.kind != askExport { // nobody else has the partition to send
		short, cancel := readtimeout.BoundStep(ctx)
		defer cancel()
		waiting = short
	}
	s, err := sv.board.await(waiting, q.at)
	if err != nil {
		return nil, err
	}
	switch q.kind {
	case askEpoch:
		return &answer{number: sv.board.epochOf(s)}, nil
	case askExport:
		if q.most == 0 && q.number < numPartitions {
			if s, err = sv.loader.loadStores(ctx, s, cell.AllStores, partitionSet(0).with(int(q.number)), false); err != nil {
				return nil, err
			}
		}
		return sv.exports.piece(s, q)
	}
	if !s.holds(q) {
		return nil, sv.errNotHeld()
	}
	return sv.answerHeld(ctx, s, q)
}

// holds reports whether all pages of a query are held.
func (s *state) holds(q *query) bool {
	// Each kind names its partitions in another way.
	switch q.kind {
	case askUIDs:
		for _, url := range q.urls {
			if !s.held.has(partitionOfURL(url)) {
				return false
			}
		}
	case askWithin, askWeights:
		// The set may have pages of others, but a machine without any cell cannot look them up.
		return len(s.parts) > 0 && s.hasAll(q.pages)
	case askPages:
		return q.number < numPartitions && len(q.pages) == 1 && s.held.has(int(q.number))
	case askStats:
		return partitionSet(q.number)&^s.held == 0
	default:
		return len(q.pages) > 0 && s.hasAll(q.pages)
	}
	return true
}

// hasAll reports whether the partitions of all pages are held.
func (s *state) hasAll(pages []uid.UID) bool {
	return !slices.ContainsFunc(pages, func(u uid.UID) bool { return !s.has(u) })
}

// answerHeld answers a query about held pages.
func (sv *server) answerHeld(ctx context.Context, s *state, q *query) (*answer, error) {
	// 1. Lists of pages.
	switch q.kind {
	case askLinks:
		most := sv.o.messageLinks()
		if q.most != 0 {
			most = int(min(q.most, uint64(most)))
		}
		l, more, err := s.linksPiece(ctx, q.direction, q.pages, uid.UID(q.after), most)
		return &answer{ends: l.Ends, items: numbersFrom(l.Items), more: uint64(more)}, err
	case askDegrees:
		degrees, err := s.degrees(ctx, q.direction, q.pages)
		return singlesFrom(degrees), err
	case askSample:
		l, err := sv.sampler.samplesPiece(ctx, s, q, sv.o.messageLinks())
		return &answer{ends: l.Ends, items: numbersFrom(l.Items)}, err
	case askLabels:
		l, more, err := s.labelsPiece(ctx, q.pages, uid.UID(q.after), sv.o.MessageBytes)
		return &answer{ends: l.Ends, texts: l.Items, more: uint64(more)}, err
	case askWithin, askWeights:
		return sv.answerWithin(ctx, s, q)
	case askLinkLabels:
		if len(q.set) != len(q.pages) {
			return nil, peer.ErrMessage
		}
		texts, err := s.linkLabelsPiece(ctx, q.pages, q.set, sv.o.MessageBytes)
		return &answer{ends: singles(texts).Ends, texts: texts}, err
	}
	// 2. Pages, and their sizes.
	switch q.kind {
	case askUIDs:
		uids, err := s.uids(ctx, q.urls)
		return singlesFrom(uids), err
	case askURLs:
		urls, err := s.urlsPiece(ctx, q.pages, sv.o.MessageBytes)
		return &answer{ends: singles(urls).Ends, texts: urls}, err
	case askPages:
		pages, err := s.pages(ctx, int(q.number), q.pages[0], int(min(q.most, 1<<62)))
		return &answer{ends: []int{len(pages)}, items: numbersFrom(pages)}, err
	case askStats:
		a, err := answerJSON(s.stats(ctx, partitionSet(q.number)))
		if err != nil {
			return nil, err
		}
		a.ends, a.texts = onFirst(0, partitionSet(q.number).len()).Ends, []string{sv.node.MachineID().String()}
		return a, nil
	}
	return nil, peer.Refuse(peer.CodeUnavailable, 0, "this release does not know query %d", q.kind)
}

// answerJSON answers with a value as JSON, unless there was an error.
func answerJSON[T any](value T, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(value)
	return &answer{data: data}, err
}

// into is the reverse of answerJSON.
func (a *answer) into(value any) error {
	if err := json.Unmarshal(a.data, value); err != nil {
		return fmt.Errorf("%w: %w", peer.ErrMessage, err)
	}
	return nil
}

// answerWithin answers with the links of pages of a set among the set.
func (sv *server) answerWithin(ctx context.Context, s *state, q *query) (*answer, error) {
	// 1. Make the set again: its numbers are those of the sender.
	var set rank.Set
	set.Reserve(len(q.set))
	for _, u := range q.set {
		set.Add(u)
	}
	items := make([]int, len(q.pages))
	for i, u := range q.pages {
		number, ok := set.Find(u)
		if !ok {
			return nil, peer.ErrMessage
		}
		items[i] = int(number)
	}
	// 2. Read the lists.
	if q.kind == askWeights {
		l, err := sv.sampler.weightsWithin(ctx, s, &set, q.spec.Class)
		return answerWeights(pickLists(l, items)), err
	}
	l, err := sv.sampler.linksWithin(ctx, s, &set, q.spec.Class)
	l = pickLists(l, items)
	return &answer{ends: l.Ends, items: numbersFrom(l.Items)}, err
}

// numbersFrom converts numbers.
func numbersFrom[T ~uint64 | ~uint32 | ~int](list []T) []uint64 {
	items := make([]uint64, len(list))
	for i, n := range list {
		items[i] = uint64(n)
	}
	return items
}

// singlesFrom returns an answer with lists of one number each.
func singlesFrom[T ~uint64 | ~int](list []T) *answer {
	return &answer{ends: singles(list).Ends, items: numbersFrom(list)}
}
