// trefoil backup and trefoil restore.

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
)

// backupCmd writes a consistent copy of a store. The store may be served meanwhile.
type backupCmd struct {
	storeFlags
	Force bool   `help:"Replace FILE if it exists."`
	File  string `arg:"" help:"The tar file to write; - is standard output."`
}

func (c *backupCmd) Run(e *env) error {
	if c.File == "-" {
		if isTerminal(e.stdout) {
			return usagef("a backup is not for a terminal: name a file, or pipe it on")
		}
		return c.write(e, e.stdout)
	}
	if _, err := os.Stat(c.File); err == nil && !c.Force {
		return fmt.Errorf("%s exists; --force replaces it", c.File)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeFile(c.File, func(w io.Writer) error { return c.write(e, w) })
}

// restoreCmd makes a store from a backup.
type restoreCmd struct {
	Data        string `required:"" placeholder:"DIR" help:"The data directory to create: missing, or empty."`
	NewIdentity bool   `help:"Give the copy a machine ID of its own, so that it may run besides its original."`
	File        string `arg:"" help:"The backup; - is standard input."`
}

func (c *restoreCmd) Run(e *env) error {
	var in io.Reader
	if c.File == "-" {
		in = e.input()
	} else {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if err := store.Restore(e.ctx, c.Data, in); err != nil {
		return fmt.Errorf("restore %s: %w", c.File, err)
	}
	if c.NewIdentity {
		if err := directory.NewIdentity(c.Data); err != nil {
			return err
		}
	}
	e.sayf("restored %s into %s", c.File, c.Data)
	return nil
}

// writeFile writes a file as a whole or not at all: under another name beside it, synced, then
// renamed.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// write writes the backup of the store chosen by the flags.
func (c *backupCmd) write(e *env, w io.Writer) (err error) {
	local, err := c.local()
	if err != nil {
		return err
	}
	if !local {
		r, err := c.connect(e)
		if err != nil {
			return err
		}
		return errors.Join(r.client.Backup(e.ctx, w), r.Close())
	}
	db, err := openStore(c.Data, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Backup(e.ctx, w)
}
