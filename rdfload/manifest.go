// The manifest of a load: its inputs and the runs on disk, for a resumed load.

package rdfload

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
