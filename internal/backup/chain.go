// Chains in files: which archives there are, and which of them a restore needs.

package backup

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// File is an archive in a file.
type File struct {
	Path string
	Info
}

// Archive returns the file for [Restore].
func (f File) Archive() Archive {
	return Archive{f.Path, func() (io.ReadCloser, error) { return os.Open(f.Path) }}
}

// Names of archives in a directory: a number from 1 in eight digits, and the kind. They sort in the
// order in which they were made.
const (
	fullSuffix      = "-full.tar"
	incrementSuffix = "-increment.tar"
)

// NextName returns the name of the next archive in a directory of files.
func NextName(files []File, full bool) (string, error) {
	number := 1
	if len(files) > 0 {
		if _, err := fmt.Sscanf(filepath.Base(files[len(files)-1].Path), "%08d-", &number); err != nil {
			return "", fmt.Errorf("%w: name %s: %w", store.ErrInvalid, files[len(files)-1].Path, err)
		}
		number++
	}
	suffix := incrementSuffix
	if full {
		suffix = fullSuffix
	}
	return fmt.Sprintf("%08d%s", number, suffix), nil
}

// List describes the archives in a directory, in order. Other files are ignored.
func List(dir string) ([]File, error) {
	names, err := filepath.Glob(filepath.Join(escape(dir), "[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]-*.tar"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var files []File
	for _, name := range names {
		if !strings.HasSuffix(name, fullSuffix) && !strings.HasSuffix(name, incrementSuffix) {
			continue
		}
		f, err := Stat(name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// escape escapes what has a meaning in globs.
func escape(path string) string {
	return strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[", "\\", "\\\\").Replace(path)
}

// Stat describes the archive in a file. It reads the first and the last entry only, so it does not
// verify the archive.
func Stat(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := stat(f)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return File{path, info}, nil
}

func stat(f io.ReadSeeker) (Info, error) {
	// 1. Read the header as restores do.
	r, h, files, err := openArchive(f)
	if err != nil {
		return Info{}, err
	}
	if files != nil {
		return filesInfo(h)
	}
	defer r.close()
	// 2. Skip to the trailer. The tar reader seeks over the data of entries.
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Info{}, err
	}
	r.tar = tar.NewReader(f)
	for {
		e, err := r.tar.Next()
		if err != nil {
			return Info{}, fault.Backup("it ends before its trailer: %w", err)
		}
		if e.Name != trailerName || e.Size > maxJSON {
			continue
		}
		data, err := io.ReadAll(r.tar)
		if err != nil {
			return Info{}, fault.Backup("its trailer: %w", err)
		}
		if err := r.parseTrailer(data); err != nil {
			return Info{}, err
		}
		return r.info(), nil
	}
}

// Plan returns the archives that a restore needs of a list in order: the last full one that does not
// end behind until, and the increments behind it up to until.
func Plan(files []File, until Until) ([]File, error) {
	// 1. Find the full archive.
	begin := -1
	var first error
	for i, f := range files {
		if !f.Full {
			continue
		}
		if err := until.checkFull(f.Info); err == nil {
			begin = i
		} else if first == nil {
			first = err
		}
	}
	switch {
	case begin >= 0:
	case first != nil:
		return nil, first
	default:
		return nil, fmt.Errorf("%w: no full backup", store.ErrInvalid)
	}
	// 2. Take the increments up to the next full archive.
	end := begin + 1
	for end < len(files) && !files[end].Full && !until.covers(files[end-1].Info) {
		end++
	}
	plan := files[begin:end]
	// 3. Check the chain before anything is restored.
	s := &restorer{until: until}
	for i := range plan {
		if err := s.follows(plan[i].Info); err != nil {
			return nil, fmt.Errorf("%s: %w", plan[i].Path, err)
		}
		s.last, s.reached = &plan[i].Info, until.covers(plan[i].Info)
	}
	return plan, s.end()
}
