// Staged tables: tables of a bulk load into a cluster that wait until it is published.

package replica

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

const (
	stagedName = "staged"
	sealName   = "SEAL"
)

// Staging is the staged tables of a machine. It is safe for concurrent use.
//
// A bulk load into a cluster must become visible on all owners at once or nowhere, though its rows
// arrive for hours, machines crash, and the layout may change. So the tables lie outside the database
// until the load is published. What is on the disk of an owner decides how far it is, and the view
// decides whether the load counts:
//
//	staged/LOAD/PLACE/NAME.new  a table that is written
//	staged/LOAD/PLACE/NAME.sst  a table that is complete
//	staged/LOAD/SEAL            the tables that are all of the load here, and their PLACE
//	local row load/taken/N      load N is part of the database
//
// PLACE names the layout that the tables were made for.
//
// Invariants:
//
//  1. A table with the ending .sst is whole and durable. Its name was given after its sync.
//  2. SEAL names complete tables of one PLACE. Tables of two layouts must never be mixed, because a row
//     could be missing in both.
//  3. The rows, load/taken/N, the counters and the mark enter the database by one ingest. So a
//     crash leaves all or nothing, and a repetition of TakeIn does nothing.
//  4. No row of a load is compared with another one before [Store.SetLoads] has its epoch: rows have
//     the number of the load instead of a stamp, see loadEpochs.
//
// The protocol on an owner:
//
//	rows arrive        Table, Set in the order of keys, Close: NAME.new becomes NAME.sst
//	all have arrived   Seal: are all tables there, in their lengths? write SEAL durably;
//	                   then remove all other tables of the load
//	a view publishes it, while the member's gate is locked:
//	                   SetLoads: load N is of epoch E
//	                   TakeIn: taken? done. Is SEAL of this N and PLACE? Else refuse.
//	                     under the lock of commits: ingest the tables and a table of local rows
//	the next views     Drop: the files of loads that are published or given up
//
// A crash before the seal loses nothing that counts: the load is sent again, and its tables replace those
// of the same names. After the seal the tables stay until a view publishes or drops the load. If TakeIn
// fails, the member does not adopt the view.
//
// A table counts its new rows against the store as it was at its first row of SPO. So the counters may
// be wrong if the same triples are written otherwise meanwhile.
type Staging struct{ store *Store }

// StagedTable is a table of a load during writing. It is not safe for concurrent use. The caller
// must close or abort it.
type StagedTable struct {
	store     *Store
	w         *sstable.Writer
	key       []byte // of the last row, table byte first
	dir, name string
	prefix    byte
	file      StagedFile
	held      *pebble.Iterator // over the held rows of SPO; nil if there are none to count
	valid     bool
	begun     bool
	ended     bool
}

// StagedFile is a complete table of a load on disk.
type StagedFile struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"` // of the file
	Rows  int64  `json:"rows"`
	// New is the number of rows of SPO that the store did not hold when they were written.
	New int64 `json:"new"`
	// Annotated is set if the table has annotations. NewAnnotations is the number of annotations
	// in SPO that the store did not hold.
	Annotated      bool  `json:"annotated,omitempty"`
	NewAnnotations int64 `json:"new_annotations,omitempty"`
}

// Seal lists all tables of a load for this machine.
type Seal struct {
	Load   string       `json:"load"`
	Number uint64       `json:"number"`
	Place  string       `json:"place"`
	Files  []StagedFile `json:"files"`
}

// Table starts a table of a load, of TableStorage or TableReplica. When it is closed, it
// replaces an earlier table of the same name.
func (s Staging) Table(load, place, name string, prefix byte) (*StagedTable, error) {
	if err := errors.Join(checkName(load), checkName(place), checkName(name)); err != nil {
		return nil, err
	}
	if prefix != keyspace.Storage && prefix != keyspace.Replica {
		return nil, fmt.Errorf("stage a table: %w: there is no table %d", store.ErrInvalid, prefix)
	}
	if err := errors.Join(s.store.db.Err(), s.store.db.Room(0)); err != nil {
		return nil, fault.Wrap("stage a table", err)
	}
	if err := s.store.db.Begin(); err != nil {
		return nil, fault.Wrap("stage a table", err)
	}
	t := &StagedTable{store: s.store, dir: s.store.db.Path(stagedName, load, place), name: name, prefix: prefix}
	if err := t.open(); err != nil {
		s.store.db.End()
		return nil, fault.Wrap("stage a table", err)
	}
	return t, nil
}

// checkName rejects a name if it leaves the directory, because names come from other machines.
func checkName(name string) error {
	if name == "" || len(name) > store.MaxLoadID || strings.ContainsAny(name, `/\`+"\x00") || strings.HasPrefix(name, ".") {
		return fmt.Errorf("%w: %q is no name of a staged table", store.ErrInvalid, name)
	}
	return nil
}

func (t *StagedTable) open() (err error) {
	if err := directory.Make(t.store.db.FS, t.dir); err != nil {
		return err
	}
	t.w, err = t.store.db.NewTable(t.path(".new"), false)
	return err
}

func (t *StagedTable) path(ending string) string {
	return t.store.db.FS.PathJoin(t.dir, t.name+ending)
}

// Bytes returns about the size of the table so far.
func (t *StagedTable) Bytes() uint64 { return t.w.Raw().EstimatedSize() }

// Set appends a row. Keys must ascend strictly. The table copies both slices.
func (t *StagedTable) Set(key, value []byte) error {
	t.key = append(append(t.key[:0], t.prefix), key...)
	if err := t.w.Set(t.key, value); err != nil {
		return err
	}
	t.file.Rows++
	annotation := triple.IsAnnotation(value)
	t.file.Annotated = t.file.Annotated || annotation
	if !isSPO(t.key) {
		return nil
	}
	fresh, err := t.isNew()
	switch {
	case !fresh:
	case annotation:
		t.file.NewAnnotations++
	default:
		t.file.New++
	}
	return err
}

// nearSteps is the number of steps forward before a seek.
const nearSteps = 8

// isNew reports whether the store does not hold the row.
func (t *StagedTable) isNew() (_ bool, err error) {
	if !t.begun {
		t.begun = true
		lower, upper := keyspace.StorageBounds(triple.OrderRange(triple.SPO))
		if t.held, err = t.store.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper}); err != nil {
			return false, err
		}
		t.valid = t.held.SeekGE(t.key)
	}
	for steps := 0; t.valid && bytes.Compare(t.held.Key(), t.key) < 0; steps++ {
		if steps == nearSteps {
			t.valid = t.held.SeekGE(t.key)
			break
		}
		t.valid = t.held.Next()
	}
	if !t.valid {
		return true, t.held.Error()
	}
	if bytes.Equal(t.held.Key(), t.key) {
		value, err := t.held.ValueAndErr()
		if err != nil || !triple.IsTombstone(value) {
			return false, err
		}
	}
	return true, nil
}

// Close completes the table, durably.
func (t *StagedTable) Close() (StagedFile, error) {
	if t.ended {
		return StagedFile{}, fmt.Errorf("close a staged table: %w", store.ErrClosed)
	}
	fs := t.store.db.FS
	err := errors.Join(t.end(), t.store.db.Err())
	if err == nil {
		err = directory.Rename(fs, t.path(".new"), t.path(".sst"))
	}
	if err == nil {
		var info interface{ Size() int64 }
		if info, err = fs.Stat(t.path(".sst")); err == nil {
			t.file.Name, t.file.Bytes = t.name, info.Size()
		}
	}
	return t.file, fault.Wrap("close a staged table", err)
}

// Abort removes the table. After Close it does nothing.
func (t *StagedTable) Abort() error {
	if t.ended {
		return nil
	}
	return errors.Join(t.end(), t.store.db.FS.Remove(t.path(".new")))
}

func (t *StagedTable) end() error {
	t.ended = true
	defer t.store.db.End()
	err := t.w.Close()
	if t.held != nil {
		err = errors.Join(err, t.held.Close())
	}
	return err
}

// Seal makes seal durable and removes all other tables of the load on this machine. It returns
// [store.ErrInvalid] if a table of the seal is missing.
func (s Staging) Seal(seal Seal) error { return fault.Wrap("seal a load", s.seal(seal)) }

func (s Staging) seal(seal Seal) error {
	if err := errors.Join(checkName(seal.Load), checkName(seal.Place)); err != nil {
		return err
	}
	// 1. Check all tables before the seal is written, because it must name complete ones.
	fs, dir := s.store.db.FS, s.store.db.Path(stagedName, seal.Load)
	keep := map[string]bool{}
	for _, f := range seal.Files {
		if err := checkName(f.Name); err != nil {
			return err
		}
		info, err := fs.Stat(fs.PathJoin(dir, seal.Place, f.Name+".sst"))
		if oserror.IsNotExist(err) || err == nil && info.Size() != f.Bytes {
			return fmt.Errorf("%w: table %s is not there as it was", store.ErrInvalid, f.Name)
		}
		if err != nil {
			return err
		}
		keep[f.Name+".sst"] = true
	}
	if err := directory.Make(fs, dir); err != nil {
		return err
	}
	// 2. A crash must not leave half a seal.
	text, err := json.Marshal(seal)
	if err != nil {
		return err
	}
	if err := directory.Replace(fs, fs.PathJoin(dir, sealName), text); err != nil {
		return err
	}
	// 3. Remove the rest last: until the seal is durable, every table may be needed.
	return s.removeOther(seal, keep)
}

// removeOther removes the staged tables of a load if they are not sealed.
func (s Staging) removeOther(seal Seal, keep map[string]bool) error {
	fs, dir := s.store.db.FS, s.store.db.Path(stagedName, seal.Load)
	places, err := fs.List(dir)
	if err != nil {
		return err
	}
	// 1. Remove the tables of other layouts as a whole.
	for _, place := range places {
		switch {
		case place == sealName:
			continue
		case place != seal.Place:
			if err := fs.RemoveAll(fs.PathJoin(dir, place)); err != nil {
				return err
			}
			continue
		}
		// 2. Of the sealed layout remove the tables that are not in keep.
		names, err := fs.List(fs.PathJoin(dir, place))
		if err != nil {
			return err
		}
		for _, name := range names {
			if keep[name] {
				continue
			}
			if err := fs.Remove(fs.PathJoin(dir, place, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Loads returns the IDs of the loads with staged tables on this machine.
func (s Staging) Loads() ([]string, error) {
	names, err := s.store.db.FS.List(s.store.db.Path(stagedName))
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	slices.Sort(names)
	return names, fault.Wrap("list staged loads", err)
}

// Drop removes all staged tables of a load.
func (s Staging) Drop(load string) error {
	if err := checkName(load); err != nil {
		return err
	}
	return fault.Wrap("drop a staged load", s.store.db.FS.RemoveAll(s.store.db.Path(stagedName, load)))
}

// readSeal returns the seal of a load, or nil if it has none.
func (s Staging) readSeal(load string) (*Seal, error) {
	if err := checkName(load); err != nil {
		return nil, err
	}
	f, err := s.store.db.FS.Open(s.store.db.Path(stagedName, load, sealName))
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	seal := new(Seal)
	if err := json.Unmarshal(text, seal); err != nil {
		return nil, fmt.Errorf("%w: the seal of load %s: %w", store.ErrCorrupt, load, err)
	}
	return seal, nil
}
