// The status of a store or a cluster, as JSON.

package store

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// NewLostRange describes the range r of keys.
func NewLostRange(r triple.Range, epoch uint64) api.LostRange {
	lost := api.LostRange{From: placeOf(r.Lo), Until: placeOf(r.Hi), Lo: r.Lo, Hi: r.Hi, Epoch: epoch}
	if len(r.Lo) > 0 {
		lost.Order = triple.Order(r.Lo[0]).String()
	}
	return lost
}

// placeOf returns the terms of a key, in its order. If the key is cut off, or has long terms, it
// returns the bytes.
func placeOf(key []byte) string {
	if len(key) < 2 {
		return ""
	}
	order, terms, err := triple.SplitKey(key)
	var text []byte
	for _, position := range order.Positions() {
		if err == nil && len(terms[position]) > 0 {
			if len(text) > 0 {
				text = append(text, ' ')
			}
			text, err = triple.AppendTermNT(text, terms[position])
		}
	}
	if err != nil {
		return fmt.Sprintf("%q", key[1:])
	}
	return string(text)
}

// Status returns the state of the store.
func (s *Store) Status() api.Status {
	// 1. Fill in the values in memory: these are valid even if the store is closing.
	st := api.Status{
		Version:     s.options.Version,
		Segments:    s.segments.Trie().Len(),
		Members:     []api.Member{{ID: s.MachineID().String(), State: "up"}},
		Corruptions: s.db.Counts.Corruptions.Load(),
		Reclaimed:   s.db.Counts.Reclaimed.Load(),
		Merges:      s.segments.Merges.Load(),
		ReadOnly:    s.options.ReadOnly,
		FreeBytes:   s.db.Free(),
	}
	if err := s.db.Err(); err != nil {
		st.Error = err.Error()
	} else if err := s.db.Room(0); err != nil {
		st.Error = err.Error()
	} else if s.db.Full() {
		st.Error = ErrDiskFull.Error()
	}
	// 2. Read the rest from the database, if it is open.
	if err := s.db.Begin(); err != nil {
		st.Error = err.Error()
		return st
	}
	defer s.db.End()
	if c, err := s.db.Counters(); err == nil {
		// Users did not add the row of prefixes and the UIDs of pages, so they must not see them in a count.
		triples, annotations := s.countPrefixRow()
		st.Triples, st.Annotations = max(c.Triples-c.Links-triples, 0), max(c.Annotations-annotations, 0)
		inexact, err := s.db.Value(keyspace.RowInexact)
		st.Exact = err == nil && inexact == nil && s.member.checkAlone() == nil
	}
	st.Bytes = s.db.TableBytes()
	st.Epoch = firstEpoch
	var stamps sequence
	if err := stamps.read(s.db); err == nil {
		st.Epoch = stamps.epoch
	}
	return st
}

// prefixKey is the key of the row of prefixes.
var prefixKey, _ = triple.AppendKey(nil, triple.SPO, systemgraph.PrefixRow)

// countPrefixRow counts the row of prefixes on this machine and its annotations. The database must be open.
func (s *Store) countPrefixRow() (triples, annotations int64) {
	row := append([]byte{keyspace.Storage}, prefixKey...)
	_, upper := triple.AnnotationBounds(row)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: row, UpperBound: upper})
	if err != nil {
		return 0, 0
	}
	defer it.Close()
	for valid := it.First(); valid; valid = it.Next() {
		switch value, err := it.ValueAndErr(); {
		case err != nil:
			return 0, 0
		case triple.IsTombstone(value):
		case triple.IsAnnotation(value):
			annotations++
		case bytes.Equal(it.Key(), row):
			triples++
		}
	}
	return triples, annotations
}
