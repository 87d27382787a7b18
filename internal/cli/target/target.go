// Package target is the store that a command works on, wherever it is: a directory that the command opens, or a
// server. [StoreFlags] choose it, and both are a [client.Store]. The package also has what arguments name in a store:
// patterns, bounds and prefixes.
package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/node"
)

// Store is the store of a command, and its parts.
type Store struct {
	client.Store
	Annotations client.AnnotationStore
	Prefixes    client.PrefixStore
	Admin       admin
}

// admin verifies and copies a store as a whole.
type admin interface {
	Check(context.Context) (client.CheckReport, error)
	BackupSince(ctx context.Context, w io.Writer, since string) error
}

// Opening is how a data directory is opened.
type Opening struct {
	node.Options
	create bool // make the directory if it is missing
}

// Reading is the opening of commands that only read.
var Reading = Opening{Options: node.Options{ReadOnly: true}}

// openLocal opens a data directory.
func openLocal(e *console.Env, dir string, how Opening) (s Store, err error) {
	if err := checkDirectory(dir); err != nil && !how.create {
		return s, err
	}
	how.Version, how.Warning = console.ThisVersion().Version, e.SayEmpty
	how.QueryTimeout = -1                    // the user can interrupt it
	how.NoLinks, how.ColumnMemory = true, -1 // one command would not use what they take to build
	db, err := node.Open(dir, how.Options)
	if err != nil {
		return s, err
	}
	return Store{db, db.Annotations, db.Prefixes, db}, nil
}

func checkDirectory(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return console.WithHint(fmt.Errorf("data directory: %w", err), "trefoil load --data DIR FILE... makes one; so do serve and add.")
	}
	return nil
}

// OpenMember opens the directory of a member, or of what one has set aside, and returns a snapshot of its rows. end
// must be called.
func OpenMember(dir string) (s *store.Snapshot, end func() error, err error) {
	if err := checkDirectory(dir); err != nil {
		return nil, nil, err
	}
	db, err := store.Open(dir, store.Options{ReadOnly: true, Member: true, Version: console.ThisVersion().Version})
	if err != nil {
		return nil, nil, err
	}
	if s, err = db.Snapshot(); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return s, func() error { return errors.Join(s.Close(), db.Close()) }, nil
}
