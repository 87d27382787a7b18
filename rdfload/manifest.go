// The manifest of a load: its inputs, prefixes and runs on disk; and the search for a load that can be resumed.

package rdfload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/triple"
)

const (
	manifestName   = "manifest.json"
	manifestFormat = 1
	rejectsName    = "rejects"
)

// manifest is the durable state of a load in its directory. An interrupted load resumes from it:
// the inputs, how far they are in runs, and the tables that are written. It must be replaced as a
// whole, after the files that it names are synced.
type manifest struct {
	Format   int                 `json:"format"`
	ID       string              `json:"id"`
	Inputs   []manifestInput     `json:"inputs"`
	Settings manifestSettings    `json:"settings"`
	Stamp    *triple.Stamp       `json:"stamp,omitempty"` // of the rows in runs
	Read     int64               `json:"read"`
	Rejected int64               `json:"rejected"`
	Rejects  int64               `json:"rejects_bytes"` // valid bytes of the rejects file
	Skipped  int64               `json:"skipped,omitempty"`
	Labelled int64               `json:"labelled,omitempty"`
	Bytes    int64               `json:"bytes"`
	ReadAll  bool                `json:"read_all"` // true if all input is in runs
	Runs     []manifestRun       `json:"runs"`
	RunsMade int                 `json:"runs_made"`        // in all, because names must not repeat
	Bounds   map[string][][]byte `json:"bounds,omitempty"` // by order: bounds of merge ranges
	Declared declared            `json:"prefixes,omitzero"`
	Place    string              `json:"place,omitempty"`  // of a Spread: the place of Merged
	Merged   map[string]merged   `json:"merged,omitempty"` // by task: finished parts
}

// manifestInput is an input, and how far it is in runs.
type manifestInput struct {
	Name    string    `json:"name"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mod_time"`
	Syntax  string    `json:"syntax,omitempty"` // if the source sets it
	Done    bool      `json:"done"`             // all of it is in runs
	Units   int64     `json:"units"`            // units that are in runs
	Offset  int64     `json:"offset"`           // N-Triples, N-Quads, link files: bytes of text in them
	Line    int       `json:"line"`             // the number of the line that comes next
	Skip    int64     `json:"skip,omitempty"`   // link files: done part of the next entry
	// Annotated is true for N-Triples and N-Quads with triple.AnnotationsHeader.
	Annotated bool `json:"annotated,omitempty"`
}

// manifestSettings are the options that must not change between the sessions of a load.
type manifestSettings struct {
	KeepGoing bool   `json:"keep_going"`
	Graph     string `json:"graph,omitempty"`
	Syntax    string `json:"syntax,omitempty"`
	Base      string `json:"base,omitempty"`
	MaxLine   int    `json:"max_line"`
	Links     string `json:"links,omitempty"`
	Blanks    bool   `json:"keep_blanks,omitempty"`
	RDFStar   bool   `json:"rdf_star,omitempty"`
}

// manifestRun names the files of a run by order.
type manifestRun struct {
	Name  string              `json:"name"`
	Level int                 `json:"level"` // number of merges that its rows went through
	Files map[string][]string `json:"files"`
	// Annotations is true if all rows are annotations.
	Annotations bool `json:"annotations,omitempty"`
}

// merged is a part of the merge that is done.
type merged struct {
	Tables []string `json:"tables"`
	Fresh  int64    `json:"fresh"` // triples that the store did not hold, in order SPO
	Rows   int64    `json:"rows"`
	// Annotations counts the annotations in order SPO; FreshAnnotations counts those that the store
	// did not hold.
	Annotations      int64 `json:"annotations,omitempty"`
	FreshAnnotations int64 `json:"fresh_annotations,omitempty"`
	// Predicates counts the rows in order POS by predicate; it is nil if there are too many.
	Predicates map[string]int64 `json:"predicates,omitzero"`
}

func settingsOf(o *Options) manifestSettings {
	return manifestSettings{KeepGoing: o.KeepGoing, Graph: string(triple.AppendNT(nil, o.Graph)),
		Syntax: o.Syntax.String(), Base: o.Base, MaxLine: o.MaxLine, Links: o.Links.settings(), Blanks: o.Stored, RDFStar: o.RDFStar}
}

// save writes the manifest durably. A crash leaves the old or the new one.
func (m *manifest) save(dir string) error {
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, manifestName), 0o644, text); err != nil {
		return fmt.Errorf("write the load's manifest: %w", err)
	}
	return nil
}

// readManifest reads the manifest of a load's directory. The error wraps fs.ErrNotExist if there is
// none.
func readManifest(dir string) (*manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, err
	}
	m := &manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("manifest of the load in %s: %w", dir, err)
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("the load in %s has format %d, this program knows %d: load again without --resume", dir, m.Format, manifestFormat)
	}
	return m, nil
}

// sameInputs reports whether the manifest has the same inputs by name.
func (m *manifest) sameInputs(inputs []manifestInput) bool {
	return slices.EqualFunc(m.Inputs, inputs, func(a, b manifestInput) bool { return a.Name == b.Name })
}

// resumable reports whether a later load can check that the inputs are the same: each must have a
// modification time.
func (m *manifest) resumable() bool {
	return !slices.ContainsFunc(m.Inputs, func(in manifestInput) bool { return in.ModTime.IsZero() })
}

// unchanged returns an error that wraps ErrChanged if an input or a setting has changed.
func (m *manifest) unchanged(inputs []manifestInput, settings manifestSettings) error {
	for i, in := range inputs {
		was := m.Inputs[i]
		if was.Size != in.Size || !was.ModTime.Equal(in.ModTime) || was.Syntax != in.Syntax {
			return fmt.Errorf("%w: %s; load again without --resume", ErrChanged, in.Name)
		}
	}
	if m.Settings != settings {
		return fmt.Errorf("%w: the options differ from those that the load began with (%+v, now %+v); use the same or load again without --resume", ErrChanged, m.Settings, settings)
	}
	return nil
}

// Limits of declared prefixes, because the manifest must stay small.
const (
	maxDeclared      = 1024
	maxDeclaredBytes = 1024 // of a name and its IRI
)

// declared are the prefixes of a load, in their order. It is safe for concurrent use.
type declared struct {
	mu   sync.Mutex
	list [][2]string // name and IRI
}

// IsZero reports whether the list is empty. Without it, encoding/json would read the list, for omitzero,
// while parsers add to it.
func (d *declared) IsZero() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.list) == 0
}

// MarshalJSON writes the list.
func (d *declared) MarshalJSON() ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return json.Marshal(d.list)
}

// UnmarshalJSON reads the list.
func (d *declared) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &d.list) }

// recordTo calls to for each prefix in the list, and returns a function that adds a prefix and then calls to. A
// prefix must be in the list before the rows behind it are in a run, so the function is called while it is parsed.
func (d *declared) recordTo(to func(name, iri string)) func(name, iri string) {
	if to == nil {
		return nil
	}
	known := map[[2]string]bool{}
	for _, p := range d.list {
		known[p] = true
		to(p[0], p[1])
	}
	return func(name, iri string) {
		p := [2]string{name, iri}
		d.mu.Lock()
		if !known[p] && len(d.list) < maxDeclared && len(name)+len(iri) <= maxDeclaredBytes {
			known[p] = true
			d.list = append(d.list, p)
		}
		d.mu.Unlock()
		to(name, iri)
	}
}

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
