// Samples of triples, and their segments.

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// sample holds the SPO keys of some triples. They represent all of a cluster's.
type sample struct {
	keys [][]byte
}

// newSample generates triples of the shape of LUBM.
func newSample(triples int64, seed uint64) (*sample, error) {
	g, err := dataset.New("lubm", seed, triples)
	if err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	go func() {
		_, err := g.Generate(context.Background(), writer)
		writer.CloseWithError(err)
	}()
	defer reader.Close()
	s := &sample{}
	scanner := triple.NewScanner(reader, triple.ScanOptions{})
	for scanner.Scan() {
		key, _ := triple.AppendKey(nil, triple.SPO, scanner.Triple())
		s.keys = append(s.keys, key)
	}
	return s, scanner.Err()
}

// split returns segments of about the same size for a sample of keys of all three orders.
func (s *sample) split(segments, partitions int) (*trie.Trie, error) {
	// The split points are keys of the sample in the order of the ordered space.
	var all [][]byte
	for _, key := range s.keys {
		for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
			version, _, err := recovery.AppendVersion(nil, o, key)
			if err != nil {
				return nil, err
			}
			all = append(all, version)
		}
	}
	slices.SortFunc(all, bytes.Compare)
	// Equal keys cannot be split, so there may be fewer segments.
	t := trie.New(1, trie.HashPartition(1, partitions))
	for i := 1; i < segments; i++ {
		at := all[i*len(all)/segments]
		last := t.Lookup(at)
		if bytes.Equal(last.Lo, at) {
			continue
		}
		id := uint64(i + 1)
		split, err := t.Split(last.ID, at, id)
		if err != nil {
			return nil, fmt.Errorf("segment %d: %w", id, err)
		}
		if t, err = split.Assign(id, trie.HashPartition(id, partitions)); err != nil {
			return nil, err
		}
	}
	return t, nil
}
