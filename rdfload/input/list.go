// Sources: the files that command-line arguments name.

package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// Stdin is the argument for standard input.
const Stdin = "-"

// Source is one document to read or to load.
type Source struct {
	Name    string    // in messages; "-" for standard input
	Size    int64     // in bytes, compressed; -1 if unknown
	ModTime time.Time // zero if unknown: a load cannot be resumed
	// Path, if not "", is the absolute path of the file that Open opens. A resumed load may start
	// in the middle of it.
	Path string
	// Open opens the document, decompressed. The caller must close the reader. A load calls it
	// once, and again if it is resumed.
	Open func() (*Reader, error)
	// Syntax is the document's syntax. If it is zero, the name or else the content determines it.
	// It is ignored for link files.
	Syntax syntax.Syntax
}

// IsStdin reports whether the source is standard input.
func (s Source) IsStdin() bool { return s.Name == Stdin && s.Path == "" }

// File returns the source of a file. Its size and modification time are unknown.
func File(name, path string) Source {
	return Source{Name: name, Path: path, Size: -1, Open: func() (*Reader, error) { return open(name, path) }}
}

// Document returns the source of a reader; size is in bytes, -1 if unknown. Its load cannot be
// resumed, because it can be opened only once.
func Document(name string, r io.Reader, size int64, s syntax.Syntax) Source {
	return Source{Name: name, Size: size, Syntax: s, Open: func() (*Reader, error) { return NewReader(r, name, Limits{}) }}
}

// Names selects files of a directory.
type Names struct {
	Are  func(name string) bool
	What string // the kind of names, for a message
	Hint string // how to read a file with another name, for a message
}

// RDF selects files with the suffix of an RDF syntax. Files of RDF-star are among them, because they must
// not be left out in silence.
var RDF = Names{What: "an RDF syntax", Hint: "to read such a file, name it or a pattern such as 'DIR/*.n3', with its syntax (--from ttl)",
	Are: func(name string) bool {
		_, known := syntax.ByFile(name)
		_, star := syntax.ByStarFile(name)
		return known || star
	}}

// Skipped are the paths of files that were left out because a directory has them under other names.
// Hidden files and directories, whose names begin with '.', are not among them.
type Skipped []string

// maxSkipped bounds the names in a message.
const maxSkipped = 5

// names returns some of the paths as text.
func (s Skipped) names() string {
	text := strings.Join(s[:min(len(s), maxSkipped)], ", ")
	if more := len(s) - maxSkipped; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Warning returns a message about the files; "" if there are none. n are the names that were selected.
func (s Skipped) Warning(n Names) string {
	switch len(s) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s is left out, because its name is not of %s; %s", s.names(), n.What, n.Hint)
	}
	return fmt.Sprintf("%d files of directories are left out, because their names are not of %s: %s; %s", len(s), n.What, s.names(), n.Hint)
}

// List returns the sources of arguments: "-", files, directories and globs of [filepath.Match]. '*'
// matches no name that starts with '.'. Each source is listed once, in the order of the arguments,
// and sorted by name within an argument. Of a directory it returns the files that names selects, and
// as skipped all others. If an argument matches nothing, List returns an error.
func List(args []string, names Names) ([]Source, Skipped, error) {
	l := lister{names: names, seen: make(map[string]bool)}
	for _, arg := range args {
		if err := l.add(arg); err != nil {
			return nil, nil, err
		}
	}
	if len(l.sources) == 0 {
		return nil, nil, errors.New("no input named; give files, directories or - for standard input")
	}
	// A file may be named beside its directory.
	skipped := slices.DeleteFunc(l.skipped, func(path string) bool {
		absolute, err := filepath.Abs(path)
		return err == nil && l.seen[absolute]
	})
	slices.Sort(skipped)
	return l.sources, slices.Compact(skipped), nil
}

// standardInput returns the source of the process's standard input.
func standardInput() Source {
	return Source{Name: Stdin, Size: -1, Open: func() (*Reader, error) { return NewReader(os.Stdin, "standard input", Limits{}) }}
}

type lister struct {
	names   Names
	sources []Source
	skipped []string        // as the argument names them
	seen    map[string]bool // by path
}

func (l *lister) add(arg string) error {
	if arg == Stdin {
		if !l.seen[Stdin] {
			l.seen[Stdin] = true
			l.sources = append(l.sources, standardInput())
		}
		return nil
	}
	// 1. An existing file or directory counts, even if its name looks like a glob.
	info, err := os.Stat(arg)
	if err == nil {
		return l.addPath(arg, info)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !strings.ContainsAny(arg, "*?[") {
		return fmt.Errorf("%s: %w", arg, fs.ErrNotExist)
	}
	// 2. Expand the glob. Hidden files must be named explicitly.
	matches, err := filepath.Glob(arg)
	if err != nil {
		return fmt.Errorf("pattern %s: %w", arg, err)
	}
	if !strings.HasPrefix(filepath.Base(arg), ".") {
		matches = slices.DeleteFunc(matches, func(name string) bool { return strings.HasPrefix(filepath.Base(name), ".") })
	}
	if len(matches) == 0 {
		return fmt.Errorf("pattern %s matches nothing: %w", arg, fs.ErrNotExist)
	}
	// 3. A match may be a directory too.
	for _, match := range matches {
		info, err := os.Stat(match)
		if err != nil {
			return err
		}
		if err := l.addPath(match, info); err != nil {
			return err
		}
	}
	return nil
}

// addPath adds a file, or the files in a directory.
func (l *lister) addPath(name string, info fs.FileInfo) error {
	if !info.IsDir() {
		return l.addFile(name, info)
	}
	found := false
	var skipped Skipped
	// The separator is necessary because WalkDir must follow a link to a directory.
	err := filepath.WalkDir(name+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") && filepath.Clean(path) != filepath.Clean(name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		if !l.names.Are(entry.Name()) {
			skipped = append(skipped, filepath.Clean(path))
			return nil
		}
		// A link counts if it leads to a regular file.
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			skipped = append(skipped, filepath.Clean(path))
			return nil
		}
		found = true
		return l.addFile(filepath.Clean(path), info)
	})
	switch {
	case err != nil || found:
		l.skipped = append(l.skipped, skipped...)
		return err
	case len(skipped) > 0:
		return fmt.Errorf("%s: no file in this directory has the name of %s, but it has %s; %s: %w", name, l.names.What, skipped.names(), l.names.Hint, fs.ErrNotExist)
	}
	return fmt.Errorf("%s: no file in this directory has the name of %s: %w", name, l.names.What, fs.ErrNotExist)
}

func (l *lister) addFile(name string, info fs.FileInfo) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if l.seen[path] {
		return nil
	}
	l.seen[path] = true
	source := File(name, path)
	source.ModTime = info.ModTime()
	if info.Mode().IsRegular() {
		source.Size = info.Size()
	}
	l.sources = append(l.sources, source)
	return nil
}
