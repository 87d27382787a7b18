package node

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// This file is the stamps of rows of bulk loads into a cluster. Such rows are
// written before anybody knows when they will be published. They carry epoch 0,
// which is used for nothing else, and the number of the load; the view says in
// which epoch the load was taken in, and that epoch's first stamp, (epoch, 0), is
// what they are compared by: newer than all of earlier epochs, older than the
// operations of its own. Rows keep what they carry, also where walks send them.

// LoadStamp returns the stamp that the rows of a load carry.
func LoadStamp(number uint64) triple.Stamp { return triple.Stamp{Sequence: number} }

// SetLoads tells the store in which epochs loads were taken in, by their numbers;
// durable when it returns. It must know of a load before a row of it is compared
// with any other: whoever adopts a view that has the load calls it before anything
// of that view is applied. What it was told before stays.
func (s *Store) SetLoads(epochs map[uint64]uint64) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	known := *s.loads.Load()
	all := maps.Clone(known)
	for number, epoch := range epochs {
		if number == 0 || epoch == 0 {
			return fmt.Errorf("set loads: %w: load %d in epoch %d", ErrInvalid, number, epoch)
		}
		all[number] = epoch
	}
	if maps.Equal(all, known) {
		return nil
	}
	if err := s.setLocal(rowLoads, appendLoads(nil, all)); err != nil {
		return wrap("set loads", err)
	}
	s.loads.Store(&all)
	return nil
}

// appendLoads appends the row of local state: for each load, by number, the
// uvarints of number and epoch.
func appendLoads(dst []byte, epochs map[uint64]uint64) []byte {
	for _, number := range slices.Sorted(maps.Keys(epochs)) {
		dst = binary.AppendUvarint(dst, number)
		dst = binary.AppendUvarint(dst, epochs[number])
	}
	return dst
}

// readLoads reads what SetLoads wrote.
func (s *Store) readLoads() error {
	value, err := s.get(rowLoads)
	if err != nil {
		return err
	}
	epochs := map[uint64]uint64{}
	for rest := value; len(rest) > 0; {
		number, n := binary.Uvarint(rest)
		epoch, m := binary.Uvarint(rest[max(n, 0):])
		if n <= 0 || m <= 0 {
			return errLocal(value)
		}
		epochs[number] = epoch
		rest = rest[n+m:]
	}
	s.loads.Store(&epochs)
	return nil
}

// stampOf returns the stamp by which a row's value, of a version or an annotation,
// is compared.
func (s *Store) stampOf(value []byte) (triple.Stamp, error) {
	stamp, err := rowStamp(value)
	if err != nil {
		return stamp, err
	}
	return s.resolve(stamp)
}

// annotationOf decodes an annotation, with the stamps by which it is compared.
func (s *Store) annotationOf(value []byte) (a triple.Annotation, err error) {
	if a, err = triple.DecodeAnnotation(value); err != nil {
		return a, err
	}
	if a.Stamp, err = s.resolve(a.Stamp); err == nil {
		a.On, err = s.resolve(a.On)
	}
	return a, err
}

// resolve returns the stamp by which one that a row carries is compared.
func (s *Store) resolve(stamp triple.Stamp) (triple.Stamp, error) {
	if stamp.Epoch != 0 || stamp.Sequence == 0 {
		return stamp, nil
	}
	epoch, ok := (*s.loads.Load())[stamp.Sequence]
	if !ok {
		return stamp, fmt.Errorf("%w: a row of bulk load %d, of which this machine has not heard", ErrCorrupt, stamp.Sequence)
	}
	return triple.Stamp{Epoch: epoch}, nil
}
