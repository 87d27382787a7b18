// The questions of a plan to the store before it reads: the approximate number of rows in
// ranges, and samples of some places of them.

package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

// Surveyor is a [Source] with an answer to many questions at once, because over a cluster each
// by itself is a message to another machine.
type Surveyor interface {
	// Survey answers questions, in their order. Their ranges may overlap.
	Survey(ctx context.Context, questions []Question) ([]Finding, error)
}

// Question requests the approximate number of a range's rows, and samples of it.
type Question struct {
	Range  triple.Range
	Places int // number of sampled places; 0 for none
}

// Finding answers a [Question]. Ranges of fewer than [SampleLeast] rows have no
// samples.
type Finding struct {
	Rows    int64
	Exact   bool // Rows is right
	Samples []Sample
}

// Sample is the key of a row, and about how many rows of the range share its
// first two terms.
type Sample struct {
	Key  []byte
	Rows int64
}

// Survey sends questions to a source: at once if it is a [Surveyor], else one after the other.
func Survey(ctx context.Context, src Source, questions []Question) ([]Finding, error) {
	if s, ok := src.(Surveyor); ok {
		return s.Survey(ctx, questions)
	}
	found := make([]Finding, len(questions))
	for i, one := range questions {
		f := &found[i]
		var err error
		if f.Rows, f.Exact, err = src.Estimate(ctx, one.Range); err != nil {
			return nil, err
		}
		if one.Places == 0 || f.Rows < SampleLeast {
			continue
		}
		if f.Samples, err = SampleRange(ctx, src, one.Range, one.Places); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// SampleLeast is a number of rows. If a range has fewer, it is not sampled.
const SampleLeast = 200

// sampleRun is how many rows of a range are read in one place.
const sampleRun = 10

// SampleRange samples some places of a range, evenly apart by their keys. It reads at most ten
// rows in each.
func SampleRange(ctx context.Context, src Source, r triple.Range, places int) ([]Sample, error) {
	// 1. Find the last key, because places are between it and the first.
	last, err := src.Scan(ctx, r, true)
	if err != nil {
		return nil, err
	}
	var end []byte
	if last.Next() {
		key, _ := last.Row()
		end = bytes.Clone(key)
	}
	if err := errors.Join(last.Err(), last.Close()); err != nil || end == nil {
		return nil, err
	}
	// 2. Move to each place, and count there.
	rows, err := src.Scan(ctx, r, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	key, _ := rows.Row()
	begin := bytes.Clone(key)
	var samples []Sample
	for i := range places {
		if i > 0 && !rows.SeekGE(keyBetween(begin, end, i, places)) {
			break
		}
		s, err := sampleAt(ctx, src, rows)
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
	}
	return samples, rows.Err()
}

// sampleAt counts the rows with the same two terms as the current row.
func sampleAt(ctx context.Context, src Source, rows Rows) (Sample, error) {
	key, _ := rows.Row()
	s := Sample{Key: bytes.Clone(key), Rows: 1}
	order, terms, err := triple.SplitKey(s.Key)
	if err != nil {
		return s, err
	}
	group := []byte{byte(order)}
	positions := order.Positions()
	for _, position := range positions[:2] {
		group = append(append(group, terms[position]...), 0, 1)
	}
	for s.Rows < sampleRun && rows.Next() {
		if key, _ = rows.Row(); !bytes.HasPrefix(key, group) {
			break
		}
		s.Rows++
	}
	if s.Rows < sampleRun {
		return s, nil
	}
	hi := bytes.Clone(group)
	hi[len(hi)-1] = 2
	s.Rows, _, err = src.Estimate(ctx, triple.Range{Lo: group, Hi: hi})
	return s, err
}

// keyBetween returns the key at i n-ths of the way between two keys.
func keyBetween(lo, hi []byte, i, n int) []byte {
	same := 0
	for same < len(lo) && same < len(hi) && lo[same] == hi[same] {
		same++
	}
	number := func(b []byte) uint64 {
		var eight [8]byte
		copy(eight[:], b)
		return binary.BigEndian.Uint64(eight[:])
	}
	a, b := number(lo[same:]), number(hi[same:])
	key := bytes.Clone(lo[:same])
	return binary.BigEndian.AppendUint64(key, a+(b-a)/uint64(n)*uint64(i))
}
