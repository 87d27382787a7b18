// trefoil load --links --data: into a directory, in steps that can be resumed.

package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
)

// linkState is the progress of a load of links after the bulk load. It is the file links.json in
// the directory of loads, and is replaced as a whole.
type linkState struct {
	Inputs   []linkInput `json:"inputs"`
	Settings string      `json:"settings"`
	Updating bool        `json:"updating"` // all as updates; otherwise the bulk load is done, and labels are being set
	Place    linkPlace   `json:"place"`
	Done     linkSummary `json:"done"`
}

// linkInput is a file at the begin of the load.
type linkInput struct {
	Name    string    `json:"name"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mod_time"`
}

const linkStateName = "links.json"

// state returns the state at the begin of a load.
func (l *linkLoad) state() *linkState {
	s := &linkState{Settings: fmt.Sprintf("%s %+v %t %t", l.predicate, l.reading, l.NoLabels, l.KeepGoing)}
	for _, in := range l.sources {
		s.Inputs = append(s.Inputs, linkInput{in.Name, in.Size, in.ModTime})
	}
	return s
}

// resumed returns the state of the same load in a file; nil if there is none.
func (s *linkState) resumed(path string) (*linkState, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var was linkState
	if err == nil {
		err = json.Unmarshal(text, &was)
	}
	if err != nil {
		return nil, fmt.Errorf("state of a load of links in %s: %w; load again without --resume", path, err)
	}
	same := slices.EqualFunc(was.Inputs, s.Inputs, func(a, b linkInput) bool {
		return a.Name == b.Name && a.Size == b.Size && a.ModTime.Equal(b.ModTime) && !a.ModTime.IsZero()
	})
	if !same || was.Settings != s.Settings {
		return nil, nil
	}
	return &was, nil
}

// save writes the state durably.
func (s *linkState) save(path string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, 0o644, text); err != nil {
		return fmt.Errorf("write the state of the load: %w", err)
	}
	return nil
}

func (l *linkLoad) intoDirectory() (err error) {
	// 1. Find the state: of the interrupted load, or a new one.
	store, end, err := l.openStore()
	if err != nil {
		return err
	}
	defer func() { err = end(err) }()
	path := filepath.Join(store.Sink().Dir(), linkStateName)
	state, to := l.state(), &localLinks{store, l.predicate}
	var was *linkState
	if l.Resume {
		if was, err = state.resumed(path); err != nil {
			return err
		}
	}
	// 2. Choose between updates and the bulk load. Updates are needed if the store has links or the
	// files are mixed.
	switch {
	case was != nil:
		state, l.done = was, was.Done
		l.done.Resumed = true
	case l.replacing:
		if state.Updating, err = to.hasLinks(l.e.Ctx); err != nil {
			return err
		}
		state.Updating = state.Updating || l.mixed
	}
	// 3. Take the steps. The state is removed when all are done.
	if err := removeFile(path, was == nil); err != nil {
		return err
	}
	if err := l.steps(store, to, state, was != nil, path); err != nil {
		return err
	}
	return removeFile(path, true)
}

// steps takes the remaining steps of a load.
func (l *linkLoad) steps(db *store.Store, to *localLinks, state *linkState, resumed bool, path string) error {
	record := func(until linkPlace) error {
		state.Place, state.Done = until, l.done
		return state.save(path)
	}
	// 1. By updates, which replace the steps below.
	if state.Updating {
		return partStored(l.update(to, state.Place, record), "The pages before that are in the store. To go on where it stopped: the same command with --resume.")
	}
	// 2. The bulk load. If it was resumed after that, only the search for repeated pages is
	// repeated.
	if !resumed {
		if err := l.bulk(db.Sink()); err != nil {
			return err
		}
		if l.NoLabels || l.done.Labelled == 0 {
			return nil
		}
		if err := record(linkPlace{}); err != nil {
			return partStored(err, "All links are in the store, but none of their labels.")
		}
	} else if l.replacing {
		if err := l.lookThrough(); err != nil {
			return err
		}
	}
	// 3. Set the labels, which the bulk load leaves out.
	set := func(batch []links.Change) error { return to.label(l.e.Ctx, batch) }
	return partStored(l.label(set, state.Place, record), "All links are in the store. To go on with their labels: the same command with --resume.")
}

// removeFile removes a file if remove is set. It need not exist.
func removeFile(path string, remove bool) error {
	if !remove {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

var _ linkUpdater = (links.Graph)(nil)
