// The search for an interrupted load that can be resumed.

package rdfload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/trefoildb/trefoil/internal/atomicfile"
)

// running holds the directories of the loads in this process. Only this process has their store
// open. Other loads must leave these directories alone.
var running directories

type directories struct {
	preparing sync.Mutex // locked by the one load that searches directories
	mu        sync.Mutex
	paths     map[string]bool
}

// add adds path. It returns false if the path is already in the set.
func (d *directories) add(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paths[path] {
		return false
	}
	if d.paths == nil {
		d.paths = make(map[string]bool)
	}
	d.paths[path] = true
	return true
}

func (d *directories) remove(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.paths, path)
}

// prepare finds or makes the load's directory, and adds it to running. resumed is true if it found
// one.
func (l *loader) prepare() (resumed bool, err error) {
	running.preparing.Lock()
	defer running.preparing.Unlock()
	// 1. Search for an interrupted load of the same inputs. It must match the options too.
	inputs := make([]manifestInput, len(l.sources))
	for i, s := range l.sources {
		inputs[i] = manifestInput{Name: s.Name, Size: s.Size, ModTime: s.ModTime, Syntax: s.Syntax.Name(), Line: 1}
	}
	settings := settingsOf(&l.opts)
	if l.dir, l.manifest, err = findLoad(l.sink.Dir(), inputs, l.opts.Resume); err != nil {
		return false, err
	}
	if l.manifest != nil {
		if err := l.manifest.unchanged(inputs, settings); err != nil {
			running.remove(l.dir)
			return false, err
		}
		return true, nil
	}
	// 2. Make a new directory. It is added to running first, because another load must not remove
	// it.
	id := newLoadID()
	l.dir = filepath.Join(l.sink.Dir(), id)
	l.manifest = &manifest{Format: manifestFormat, ID: id, Inputs: inputs, Settings: settings}
	running.add(l.dir)
	if err := l.makeDirectory(); err != nil {
		err = errors.Join(err, os.RemoveAll(l.dir))
		running.remove(l.dir)
		return false, err
	}
	return false, nil
}

func (l *loader) makeDirectory() error {
	if err := l.sink.Room(0); err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	if err := l.manifest.save(l.dir); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(l.dir))
}

// findLoad returns the directory and manifest of a stopped load of these inputs under dir, and adds
// it to running. The manifest is nil if there is none. findLoad removes loads that cannot be
// resumed. If resume is false, it also removes the stopped loads of these inputs.
func findLoad(dir string, inputs []manifestInput, resume bool) (string, *manifest, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	var unreadable error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() {
			continue
		}
		// 1. Claim the directory. mine is false if a load in this process has it.
		mine := running.add(path)
		m, err := readManifest(path)
		// 2. Remove, return or leave it. A running load must never be removed.
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !m.resumable(), err == nil && !resume && m.sameInputs(inputs):
			if mine {
				err = os.RemoveAll(path)
				running.remove(path)
				if err != nil {
					return "", nil, err
				}
			}
			continue
		case err == nil && m.sameInputs(inputs) && mine:
			return path, m, nil
		case err == nil && m.sameInputs(inputs):
			return "", nil, fmt.Errorf("a load of the same inputs is running already (%s)", m.ID)
		case err != nil:
			unreadable = err
		}
		if mine {
			running.remove(path)
		}
	}
	// 3. An unreadable manifest is an error only if the caller wants to resume, because it may be
	// the searched one.
	if resume {
		return "", nil, unreadable
	}
	return "", nil, nil
}
