package node

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

	"github.com/trefoildb/trefoil/triple"
)

// This file is the tables of bulk loads into a cluster that wait on this machine,
// outside of the database, until the load is published:
//
//	staged/LOAD/PLACE/NAME.sst  a table; NAME.new while it is written
//	staged/LOAD/SEAL            which tables of which place are all of the load here
//
// PLACE names the layout for which the tables were made. Tables of another one are
// never mixed with them.

const (
	stagedName = "staged"
	sealName   = "SEAL"
	sealNew    = "SEAL.new"
)

// StagedTable is a table of a load that is being written. One goroutine at a time
// may use it. It must be closed or aborted.
type StagedTable struct {
	store *Store
	table
	dir, name string
	prefix    byte
	file      StagedFile
	held      *pebble.Iterator // over the rows of SPO that are in the store; nil: none to count
	valid     bool
	begun     bool
	ended     bool
}

// StagedFile is a table of a load that is complete on the disk.
type StagedFile struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"` // of the file
	Rows  int64  `json:"rows"`
	// New is how many of the rows are versions of SPO that the store did not hold
	// when they were written.
	New int64 `json:"new"`
	// Annotated: there are annotations among the rows. NewAnnotations is how many of
	// those in SPO the store did not hold.
	Annotated      bool  `json:"annotated,omitempty"`
	NewAnnotations int64 `json:"new_annotations,omitempty"`
}

// Seal says which tables are all that this machine takes in for a load.
type Seal struct {
	Load   string       `json:"load"`
	Number uint64       `json:"number"`
	Place  string       `json:"place"`
	Files  []StagedFile `json:"files"`
}

// StageTable starts a table of a load, of TableStorage or TableReplica. One that
// has the same name takes the place of the one before when it is closed.
func (s *Store) StageTable(load, place, name string, prefix byte) (*StagedTable, error) {
	if err := errors.Join(checkName(load), checkName(place), checkName(name)); err != nil {
		return nil, err
	}
	if prefix != TableStorage && prefix != TableReplica {
		return nil, fmt.Errorf("stage a table: %w: there is no table %d", ErrInvalid, prefix)
	}
	if err := errors.Join(s.health.err(), s.disk.room(0)); err != nil {
		return nil, wrap("stage a table", err)
	}
	if err := s.uses.begin(); err != nil {
		return nil, wrap("stage a table", err)
	}
	t := &StagedTable{store: s, dir: s.path(stagedName, load, place), name: name, prefix: prefix}
	if err := t.open(); err != nil {
		s.uses.end()
		return nil, wrap("stage a table", err)
	}
	return t, nil
}

// checkName keeps names that came from other machines to one directory.
func checkName(name string) error {
	if name == "" || len(name) > maxLoadID || strings.ContainsAny(name, `/\`+"\x00") || strings.HasPrefix(name, ".") {
		return fmt.Errorf("%w: %q is no name of a staged table", ErrInvalid, name)
	}
	return nil
}

func (t *StagedTable) open() (err error) {
	if err := makeDirectory(t.store.options.FS, t.dir); err != nil {
		return err
	}
	t.w, err = t.store.tableWriter(t.path(".new"))
	return err
}

func (t *StagedTable) path(ending string) string {
	return t.store.options.FS.PathJoin(t.dir, t.name+ending)
}

// Set appends a row. Keys ascend strictly. The table copies both slices.
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

// nearSteps is how many steps forward are taken before a seek.
const nearSteps = 8

// isNew reports whether the store does not hold the row.
func (t *StagedTable) isNew() (_ bool, err error) {
	if !t.begun {
		t.begun = true
		lower, upper := storageBounds(triple.OrderRange(triple.SPO))
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
		return StagedFile{}, fmt.Errorf("close a staged table: %w", ErrClosed)
	}
	fs := t.store.options.FS
	err := errors.Join(t.end(), t.store.health.err())
	if err == nil {
		err = errors.Join(fs.Rename(t.path(".new"), t.path(".sst")), syncDirectory(fs, t.dir))
	}
	if err == nil {
		var info interface{ Size() int64 }
		if info, err = fs.Stat(t.path(".sst")); err == nil {
			t.file.Name, t.file.Bytes = t.name, info.Size()
		}
	}
	return t.file, wrap("close a staged table", err)
}

// Abort removes the table. After Close it does nothing.
func (t *StagedTable) Abort() error {
	if t.ended {
		return nil
	}
	return errors.Join(t.end(), t.store.options.FS.Remove(t.path(".new")))
}

func (t *StagedTable) end() error {
	t.ended = true
	defer t.store.uses.end()
	err := t.w.Close()
	if t.held != nil {
		err = errors.Join(err, t.held.Close())
	}
	return err
}

// Seal makes it durable that the tables which it names are the load's on this
// machine, and removes the others of the load. It is [ErrInvalid] where one of them
// is not there.
func (s *Store) Seal(seal Seal) error { return wrap("seal a load", s.seal(seal)) }

func (s *Store) seal(seal Seal) error {
	if err := errors.Join(checkName(seal.Load), checkName(seal.Place)); err != nil {
		return err
	}
	fs, dir := s.options.FS, s.path(stagedName, seal.Load)
	keep := map[string]bool{}
	for _, f := range seal.Files {
		if err := checkName(f.Name); err != nil {
			return err
		}
		info, err := fs.Stat(fs.PathJoin(dir, seal.Place, f.Name+".sst"))
		if oserror.IsNotExist(err) || err == nil && info.Size() != f.Bytes {
			return fmt.Errorf("%w: table %s is not there as it was", ErrInvalid, f.Name)
		}
		if err != nil {
			return err
		}
		keep[f.Name+".sst"] = true
	}
	if err := makeDirectory(fs, dir); err != nil {
		return err
	}
	text, err := json.Marshal(seal)
	if err != nil {
		return err
	}
	if err := writeFile(fs, fs.PathJoin(dir, sealNew), text); err != nil {
		return err
	}
	if err := fs.Rename(fs.PathJoin(dir, sealNew), fs.PathJoin(dir, sealName)); err != nil {
		return err
	}
	if err := syncDirectory(fs, dir); err != nil {
		return err
	}
	return s.removeOther(seal, keep)
}

// removeOther removes what is staged of a load and not sealed.
func (s *Store) removeOther(seal Seal, keep map[string]bool) error {
	fs, dir := s.options.FS, s.path(stagedName, seal.Load)
	places, err := fs.List(dir)
	if err != nil {
		return err
	}
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

// Staged returns the ids of the loads of which something is staged here.
func (s *Store) Staged() ([]string, error) {
	names, err := s.options.FS.List(s.path(stagedName))
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	slices.Sort(names)
	return names, wrap("list staged loads", err)
}

// DropStaged removes what is staged of a load.
func (s *Store) DropStaged(load string) error {
	if err := checkName(load); err != nil {
		return err
	}
	return wrap("drop a staged load", s.options.FS.RemoveAll(s.path(stagedName, load)))
}

// readSeal returns the seal of a load; nil where there is none.
func (s *Store) readSeal(load string) (*Seal, error) {
	if err := checkName(load); err != nil {
		return nil, err
	}
	f, err := s.options.FS.Open(s.path(stagedName, load, sealName))
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
		return nil, fmt.Errorf("%w: the seal of load %s: %w", ErrCorrupt, load, err)
	}
	return seal, nil
}
