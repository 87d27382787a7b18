// Restoring a chain into a new data directory, or into a store that runs.

package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/internal/store"
)

// Archive is one archive of a chain.
type Archive struct {
	Name string // in messages
	Open func() (io.ReadCloser, error)
}

// Options are the parameters of a restore. The zero value is ready to use.
type Options struct {
	Until Until
	// Memory bounds each bulk load; 0 is the default of package rdfload.
	Memory int64
	// Version is the program's, for the status of the store.
	Version string
}

// Restore makes dir a data directory from a chain: a full archive, then its increments in order. dir
// must be missing or empty. At the end either everything is verified and durable, or dir is as before.
// Archives behind Options.Until are not read. The store has a feed of its own: positions of the original
// are invalid in it. It has the original's machine ID if the full archive has files, and else a new one.
func Restore(ctx context.Context, dir string, chain []Archive, o Options) (n Counts, err error) {
	err = store.MakeDirectory(dir, func(work string) error {
		var db *store.Store
		s := newRestorer(ctx, o)
		// The store is opened late, because the first archive may bring its files.
		s.open = func() (Target, error) {
			var err error
			db, err = store.Open(work, store.Options{Version: o.Version})
			return db, err
		}
		s.unpack = func(in io.Reader) error { return store.Unpack(ctx, work, in) }
		err := s.chain(chain)
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		n = s.total
		return err
	})
	return n, err
}

// RestoreInto restores a chain into a store that runs and must be empty. The archives follow one another in
// one stream. None may have the files of a lone store. If Into fails, the store has a part of the
// chain: it must be emptied before the next try.
func RestoreInto(ctx context.Context, to Target, in io.Reader, o Options) (Counts, error) {
	s := newRestorer(ctx, o)
	s.open = func() (Target, error) { return to, nil }
	s.unpack = func(io.Reader) error { return errFiles }
	if err := s.stream(in); err != nil {
		return s.total, fmt.Errorf("restore: %w", err)
	}
	err := s.finish()
	return s.total, err
}

var errFiles = fmt.Errorf("%w: this backup has the files of a lone store, which only a data directory can take: restore it with --data", store.ErrInvalid)

// chain restores all archives.
func (s *restorer) chain(chain []Archive) error {
	for _, a := range chain {
		if s.reached {
			break
		}
		in, err := a.Open()
		if err != nil {
			return err
		}
		if err = errors.Join(s.stream(in), in.Close()); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return s.finish()
}

// stream restores archives that follow one another, up to the end of the stream or of the restore.
func (s *restorer) stream(in io.Reader) error {
	b := bufio.NewReaderSize(in, 1<<20)
	for number := 1; !s.reached; number++ {
		if _, err := b.Peek(1); err == io.EOF && number > 1 {
			return nil
		}
		if err := s.next(b); err != nil {
			if number > 1 {
				err = fmt.Errorf("archive %d of the stream: %w", number, err)
			}
			return err
		}
	}
	return nil
}

// next restores the next archive.
func (s *restorer) next(in io.Reader) error {
	r, h, files, err := openArchive(in)
	if err != nil {
		return err
	}
	if files != nil {
		return s.files(h, files)
	}
	defer r.close()
	if s.pending.to == nil {
		if s.pending.to, err = s.open(); err != nil {
			return err
		}
	}
	return s.archive(r)
}

// files restores an archive with the files of a lone store.
func (s *restorer) files(h header, in io.Reader) error {
	info, err := filesInfo(h)
	if err == nil {
		err = s.follows(info)
	}
	if err == nil {
		err = s.until.checkFull(info)
	}
	if err == nil {
		err = s.unpack(in)
	}
	s.last, s.reached = &info, s.until.covers(info)
	return err
}
