// The prefixes of a store: read, kept for documents, set and removed by people.

package prefixes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// Errors of changes; test with [errors.Is].
var (
	ErrInvalid  = errors.New("no prefix")
	ErrNotFound = fmt.Errorf("the store has no such prefix: %w", store.ErrNotFound)
)

// Read returns the prefixes of a store, without well-known ones.
func Read(ctx context.Context, s interface{ Reader() (store.Reader, error) }) (Names, error) {
	names, _, err := read(ctx, s)
	return names, err
}

func read(ctx context.Context, s interface{ Reader() (store.Reader, error) }) (Names, triple.Stamp, error) {
	fail := func(err error) (Names, triple.Stamp, error) {
		return nil, triple.Stamp{}, fmt.Errorf("read the prefixes of the store: %w", err)
	}
	r, err := s.Reader()
	if err != nil {
		return fail(err)
	}
	defer r.Close()
	a, err := r.Annotation(ctx, systemgraph.PrefixRow, systemgraph.Prefixes)
	if err != nil {
		return fail(err)
	}
	if a == nil {
		return Names{}, triple.Stamp{}, nil
	}
	names := Names{}
	if err := json.Unmarshal(a.Data, &names); err != nil {
		return fail(err)
	}
	// An operator may write anything, and a restored backup may be of another release.
	maps.DeleteFunc(names, func(name, iri string) bool { return Check(name, iri) != nil })
	return names, a.Version, nil
}

// Keep adds prefixes of documents, sorted by name, as far as the store has room for them. Names that it
// has keep their IRIs. If nothing is new, nothing is written.
func Keep(ctx context.Context, s store.Triples, found Names) error {
	if len(found) == 0 {
		return nil
	}
	return change(ctx, s, func(names Names) error {
		for _, name := range slices.Sorted(maps.Keys(found)) {
			_, known := wellKnown[name]
			if _, taken := names[name]; taken || known || len(names) >= MaxPrefixes || Check(name, found[name]) != nil {
				continue
			}
			names[name] = found[name]
		}
		return nil
	})
}

// Set gives a prefix its IRI, whatever it was before. The error is ErrInvalid if that is no prefix, or
// if there are too many.
func Set(ctx context.Context, s store.Triples, name, iri string) error {
	if err := Check(name, iri); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return change(ctx, s, func(names Names) error {
		if _, ok := names[name]; !ok && len(names) >= MaxPrefixes {
			return fmt.Errorf("%w: the store has %d prefixes, and no more are allowed; remove one", ErrInvalid, len(names))
		}
		names[name] = iri
		return nil
	})
}

// Remove removes a prefix of the store. A well-known one that it replaced is valid again. The error is
// ErrNotFound if the store has no such prefix.
func Remove(ctx context.Context, s store.Triples, name string) error {
	return change(ctx, s, func(names Names) error {
		if _, ok := names[name]; !ok {
			return ErrNotFound
		}
		delete(names, name)
		return nil
	})
}

// maxTries bounds the tries of a change, because each conflict means that another one was made.
const maxTries = 100

// change lets edit change the prefixes of a store, and writes them if they differ. edit may be called
// several times.
func change(ctx context.Context, s store.Triples, edit func(Names) error) error {
	// The change is no part of the request's own, so it has neither its key nor its caller's rights.
	ctx = store.WithRequestKey(systemgraph.WithOperator(ctx), "", false)
	for try := 1; ; try++ {
		// 1. Read and change the prefixes.
		names, version, err := read(ctx, s)
		if err != nil {
			return err
		}
		before := maps.Clone(names)
		if err := edit(names); err != nil {
			return err
		}
		if maps.Equal(before, names) {
			return nil
		}
		// 2. Write them, if no other change came between. The first change adds the row.
		var data bytes.Buffer
		to := json.NewEncoder(&data)
		to.SetEscapeHTML(false)
		if err := to.Encode(names); err != nil {
			return err
		}
		when := store.Condition{Version: version, Absent: version == triple.Stamp{}}
		_, err = store.AnnotateIf(ctx, s, systemgraph.PrefixRow, systemgraph.Prefixes, data.Bytes(), when)
		if errors.Is(err, store.ErrNotFound) {
			if _, err = store.Add(ctx, s, []triple.Triple{systemgraph.PrefixRow}); err == nil {
				_, err = store.AnnotateIf(ctx, s, systemgraph.PrefixRow, systemgraph.Prefixes, data.Bytes(), when)
			}
		}
		if errors.Is(err, store.ErrConflict) && try < maxTries {
			continue
		}
		if err != nil {
			return fmt.Errorf("write the prefixes of the store: %w", err)
		}
		return nil
	}
}
