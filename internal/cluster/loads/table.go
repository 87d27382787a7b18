// Tables of a load, each with a part on every owner.

package loads

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// table implements [rdfload.Table]. Each row goes to the owner of its key, and a row of SPO also to the
// machines with an extra replica of it. The file of the table has only the list of its parts.
type table struct {
	sink   *sink
	path   string
	name   string
	cursor *cursor
	// storage and replicas are the parts by index of the ring, nil if they have no row.
	storage, replicas []part
	rows              int

	fresh, freshAnnotations int64
}

// part is the rows of a table for one machine, in its storage or replica table.
type part interface {
	add(key, value []byte) error
	// bytes returns about the length of the file so far.
	bytes() uint64
	// close makes the file durable.
	close() (replica.StagedFile, error)
	abort() error
}

// partOf is a file of a table on a machine.
type partOf struct {
	Machine trie.MachineID `json:"machine"`
	replica.StagedFile
}

// place returns the index of a machine on the ring, -1 if it is not on it.
func (r *router) place(id trie.MachineID) int {
	for i, m := range r.ring {
		if m == id {
			return i
		}
	}
	return -1
}

// CreateTable implements [rdfload.Sink].
func (s *sink) CreateTable(path string) (rdfload.Table, error) {
	if s.moved() {
		return nil, s.giveUp(errors.New("data moves"))
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	n := len(s.router.ring)
	return &table{sink: s, path: path, name: name, cursor: s.router.cursor(), storage: make([]part, n), replicas: make([]part, n)}, nil
}

// checkRows is the number of rows between two checks of the context.
const checkRows = 1 << 10

// Set implements [rdfload.Table].
func (t *table) Set(key, value []byte) error {
	if t.rows++; t.rows%checkRows == 0 {
		if err := t.sink.err(); err != nil {
			return err
		}
	}
	if triple.IsAnnotation(value) {
		return t.addAnnotation(key, value)
	}
	return t.addTo(t.cursor.owner(key), key, key, value)
}

// addTo adds a row to the owner of its triple's row in this order, and a row of SPO also to the
// machines with an extra replica.
func (t *table) addTo(owner int, version, key, value []byte) error {
	if err := t.add(t.storage, owner, store.TableStorage, key, value); err != nil {
		return err
	}
	if triple.Order(key[0]) != triple.SPO {
		return nil
	}
	extras, err := t.cursor.replicas(version, owner)
	if err != nil {
		return err
	}
	for _, machine := range extras {
		if err := t.add(t.replicas, machine, store.TableReplica, key, value); err != nil {
			return err
		}
	}
	return nil
}

// addAnnotation adds the row of an annotation to all machines with a copy of the annotated row.
func (t *table) addAnnotation(key, value []byte) error {
	version, _, ok := triple.CutAnnotation(key)
	if !ok {
		return fmt.Errorf("%w: an annotation's value under a version's key", triple.ErrCorrupt)
	}
	return t.addTo(t.cursor.ownerOf(version), version, key, value)
}

// err returns the reason if the load must end, otherwise nil.
func (s *sink) err() error {
	if s.loads.ctx.Err() != nil {
		return store.ErrClosed
	}
	return s.ctx.Err()
}

func (t *table) add(parts []part, machine int, prefix byte, key, value []byte) error {
	if parts[machine] == nil {
		p, err := t.begin(machine, prefix)
		if err != nil {
			return err
		}
		parts[machine] = p
	}
	return parts[machine].add(key, value)
}

// begin begins a part.
func (t *table) begin(machine int, prefix byte) (part, error) {
	s, name := t.sink, t.name
	if prefix == store.TableReplica {
		name += "-replica"
	}
	id := s.router.ring[machine]
	if id != s.loads.self.Machine {
		return newRemotePart(s, id, name, prefix), nil
	}
	staged, err := s.loads.store.Staging().Table(s.id, s.tables, name, prefix)
	if err != nil {
		return nil, err
	}
	return localPart{staged}, nil
}

// Bytes implements [rdfload.Table]: the length of the longest part.
func (t *table) Bytes() (most uint64) {
	t.each(func(_ int, p part) { most = max(most, p.bytes()) })
	return most
}

func (t *table) each(do func(machine int, p part)) {
	for _, parts := range [][]part{t.storage, t.replicas} {
		for machine, p := range parts {
			if p != nil {
				do(machine, p)
			}
		}
	}
}

// Close implements [rdfload.Table]. When it returns nil, every machine has its part durably.
func (t *table) Close() error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var files []partOf
	var failed error
	t.each(func(machine int, p part) {
		group.Go(func() {
			file, err := p.close()
			mu.Lock()
			defer mu.Unlock()
			if err != nil && (failed == nil || errors.Is(failed, rdfload.ErrMoved)) {
				failed = err // an error that remains is better to return than ErrMoved
			}
			files = append(files, partOf{t.sink.router.ring[machine], file})
			t.fresh += file.New
			t.freshAnnotations += file.NewAnnotations
		})
	})
	group.Wait()
	if failed != nil {
		return failed
	}
	return writeParts(t.path, files)
}

// New returns how many triples and annotations the cluster did not hold, after Close.
func (t *table) New() (triples, annotations int64) { return t.fresh, t.freshAnnotations }

// Abort drops the table.
func (t *table) Abort() (err error) {
	t.each(func(_ int, p part) { err = errors.Join(err, p.abort()) })
	return err
}

// localPart is a part on this machine.
type localPart struct{ table *replica.StagedTable }

func (p localPart) add(key, value []byte) error        { return p.table.Set(key, value) }
func (p localPart) bytes() uint64                      { return p.table.Bytes() }
func (p localPart) close() (replica.StagedFile, error) { return p.table.Close() }
func (p localPart) abort() error                       { return p.table.Abort() }

// writeParts writes the list of a table's parts durably.
func writeParts(path string, parts []partOf) error {
	text, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func readParts(path string) (parts []partOf, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parts, nil
}
