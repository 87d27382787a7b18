package cli

// This file is load --links --data: into a directory, in steps that can be resumed.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node"
)

// linkState is how far a load of links is behind the bulk load, in a file of the
// directory of loads: links.json. It is replaced as a whole.
type linkState struct {
	Inputs   []linkInput `json:"inputs"`
	Settings string      `json:"settings"`
	Updating bool        `json:"updating"` // all by updates; else the bulk load is done, and labels are noted
	Place    linkPlace   `json:"place"`
	Done     linkSummary `json:"done"`
}

// linkInput is a file as it was when the load began.
type linkInput struct {
	Name    string    `json:"name"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mod_time"`
}

const linkStateName = "links.json"

// state returns the state of a load that begins.
func (l *linkLoad) state() *linkState {
	s := &linkState{Settings: fmt.Sprintf("%s %+v %t %t", l.predicate, l.reading, l.NoLabels, l.KeepGoing)}
	for _, in := range l.sources {
		s.Inputs = append(s.Inputs, linkInput{in.Name, in.Size, in.ModTime})
	}
	return s
}

// resumed returns the state of the same load in a file, nil where there is none.
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
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the state of the load: %w", err)
	}
	return os.Rename(path+".new", path)
}

func (l *linkLoad) intoDirectory() (err error) {
	store, err := l.openStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	path := filepath.Join(store.Sink().Dir(), linkStateName)
	state, to := l.state(), &localLinks{store, l.predicate}
	var was *linkState
	if l.Resume {
		if was, err = state.resumed(path); err != nil {
			return err
		}
	}
	switch {
	case was != nil:
		state, l.done = was, was.Done
		l.done.Resumed = true
	case l.replacing:
		if state.Updating, err = to.hasLinks(l.e.ctx); err != nil {
			return err
		}
		state.Updating = state.Updating || l.mixed
	}
	if err := removeFile(path, was == nil); err != nil {
		return err
	}
	if err := l.steps(store, to, state, was != nil, path); err != nil {
		return err
	}
	return removeFile(path, true)
}

// steps takes the steps of a load that are left.
func (l *linkLoad) steps(store *node.Store, to *localLinks, state *linkState, resumed bool, path string) error {
	noted := func(until linkPlace) error {
		state.Place, state.Done = until, l.done
		return state.save(path)
	}
	if state.Updating {
		return kept(l.update(to, state.Place, noted), "The pages before that are in the store. To go on where it stopped: the same command with --resume.")
	}
	if !resumed {
		if err := l.bulk(store.Sink()); err != nil {
			return err
		}
		if l.NoLabels || l.done.Labelled == 0 {
			return nil
		}
		if err := noted(linkPlace{}); err != nil {
			return err
		}
	} else if l.replacing {
		if err := l.lookThrough(); err != nil {
			return err
		}
	}
	note := func(batch []links.Change) error { return to.label(l.e.ctx, batch) }
	return kept(l.label(note, state.Place, noted), "All links are in the store. To go on with their labels: the same command with --resume.")
}

// removeFile removes a file, if it is to be removed and there.
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
