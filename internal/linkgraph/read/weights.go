// Weights of the links among the pages of a set.

package read

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
)

// WeightsWithin implements rank.Source. The messages are those of LinksWithin, with the weights in
// the bytes of the answer.
func (rd *Reader) WeightsWithin(ctx context.Context, set *rank.Set, class sample.Class) (l rank.Lists[rank.WeightedLink], err error) {
	pages := set.UIDs()
	return gatherWithin(ctx, rd.Router, set, &route.Query{Kind: route.QueryWeights, Spec: sample.Spec{Class: class}, Set: pages},
		func(s *state.State) (rank.Lists[rank.WeightedLink], error) {
			return rd.Sampler.WeightsWithin(ctx, s, set, class)
		},
		func(a *route.Answer) ([]rank.WeightedLink, error) { return parseWeights(a, len(pages)) })
}

// WeightsWithin returns the links of all pages of a set, as linksWithin does, with their weights.
func (sm *Sampler) WeightsWithin(ctx context.Context, s *state.State, set *rank.Set, class sample.Class) (l rank.Lists[rank.WeightedLink], err error) {
	p, err := placeSet(ctx, s, set)
	if err != nil {
		return l, err
	}
	hosts := sm.Hosts.ForCall()
	l, err = rank.MakeLists(ctx, set.Len(), p.order, func(l *rank.Lists[rank.WeightedLink], spans iter.Seq2[int, int]) {
		w := weightReader{withinReader: withinReader{placed: p, hosts: hosts, class: class, reader: delta.NewReader()}}
		defer w.reader.Release()
		for from, to := range spans {
			for from < to {
				end := w.next(from, to)
				w.readWeighted(l, from, end)
				from = end
			}
		}
	})
	return l, errors.Join(err, hosts.Failed())
}

// weightReader is a withinReader for links with weights.
type weightReader struct {
	withinReader
	plain   rank.Lists[uint32] // without weights
	weights []float64
}

// readWeighted appends the lists of the pages at these places. Most pages have no labels, so all
// lists are read without weights first. Those with labels are read again.
func (w *weightReader) readWeighted(l *rank.Lists[rank.WeightedLink], from, to int) {
	w.plain.Items, w.plain.Ends = w.plain.Items[:0], w.plain.Ends[:0]
	w.read(&w.plain, from, to)
	for k := range to - from {
		w.weights = w.views[k].AppendWeights(w.weights[:0], w.pages[k])
		if len(w.weights) > 0 {
			w.appendWeighted(l, k)
		} else {
			for _, number := range w.plain.At(k) {
				l.Items = append(l.Items, rank.WeightedLink{To: number, Weight: 1})
			}
		}
		l.End()
	}
}

// appendWeighted appends the links of page k of the last batch, whose weights are w.weights.
func (w *weightReader) appendWeighted(l *rank.Lists[rank.WeightedLink], k int) {
	w.links = w.views[k].AppendLinks(w.links[:0], links.Forward, w.pages[k])
	if cap(w.numbers) < len(w.links) {
		w.numbers = make([]uint32, 2*len(w.links))
	}
	numbers := w.numbers[:len(w.links)]
	w.set.Numbers(numbers, w.links)
	var classes sample.Classes
	if w.class != sample.All {
		classes = sample.ClassesOf(w.hosts, w.pages[k])
	}
	for at := 0; at < len(w.links); {
		// A run of links has one class.
		length, of := len(w.links)-at, w.class
		if w.class != sample.All {
			length, of = classes.Run(w.links[at:])
		}
		for i := at; i < at+length && of >= w.class; i++ {
			if numbers[i] != rank.NotIn {
				l.Items = append(l.Items, rank.WeightedLink{To: numbers[i], Weight: w.weights[i]})
			}
		}
		at += length
	}
}

// AnswerWeights returns the answer with these lists. Each weight is, as an uvarint, its bits and
// those of the weight before it that differ, the bytes reversed: so that small integers are short,
// and a weight that is repeated takes one byte.
func AnswerWeights(l rank.Lists[rank.WeightedLink]) *route.Answer {
	a := &route.Answer{Ends: l.Ends, Items: make([]uint64, len(l.Items)), Data: make([]byte, 0, 2*len(l.Items))}
	before := uint64(0)
	for i, one := range l.Items {
		a.Items[i] = uint64(one.To)
		weight := bits.ReverseBytes64(math.Float64bits(one.Weight))
		a.Data = binary.AppendUvarint(a.Data, weight^before)
		before = weight
	}
	return a
}

// parseWeights is the reverse of answerWeights, for a set of n pages.
func parseWeights(a *route.Answer, n int) ([]rank.WeightedLink, error) {
	numbers, err := parseWithin(a, n)
	if err != nil {
		return nil, err
	}
	all := make([]rank.WeightedLink, len(numbers))
	data, before := a.Data, uint64(0)
	for i, number := range numbers {
		difference, size := binary.Uvarint(data)
		if size <= 0 {
			return nil, fmt.Errorf("%w: there are fewer weights than links", peer.ErrMessage)
		}
		data = data[size:]
		before ^= difference
		all[i] = rank.WeightedLink{To: number, Weight: math.Float64frombits(bits.ReverseBytes64(before))}
	}
	if len(data) > 0 {
		return nil, fmt.Errorf("%w: there are more weights than links", peer.ErrMessage)
	}
	return all, nil
}
