package input

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// Stdin is the argument that names standard input.
const Stdin = "-"

// Source is one document to read.
type Source struct {
	Name    string    // as it is shown to the user; "-" for standard input
	Path    string    // absolute; "" for standard input
	Size    int64     // in bytes, compressed; -1 where it is not known
	ModTime time.Time // zero where it is not known
}

// IsStdin reports whether the source is standard input.
func (s Source) IsStdin() bool { return s.Path == "" }

// Names tells which files of a directory are meant.
type Names struct {
	Are  func(name string) bool
	What string // what the names are of, for a message
}

// List returns the sources that the arguments name: "-", files, directories and
// globs of [filepath.Match] ('*' means no name that starts with '.'), each source once, in the order of the arguments and
// within one argument sorted by name. Of a directory they are the files with names of
// RDF syntaxes. An argument that names nothing is an error.
func List(args []string) ([]Source, error) {
	return ListNamed(args, Names{Are: func(name string) bool { _, ok := syntax.ByFile(name); return ok }, What: "an RDF syntax"})
}

// ListNamed is List for other files of directories.
func ListNamed(args []string, names Names) ([]Source, error) {
	l := lister{names: names, seen: make(map[string]bool)}
	for _, arg := range args {
		if err := l.add(arg); err != nil {
			return nil, err
		}
	}
	if len(l.sources) == 0 {
		return nil, errors.New("no input named; give files, directories or - for standard input")
	}
	return l.sources, nil
}

type lister struct {
	names   Names
	sources []Source
	seen    map[string]bool // by path
}

func (l *lister) add(arg string) error {
	if arg == Stdin {
		if !l.seen[Stdin] {
			l.seen[Stdin] = true
			l.sources = append(l.sources, Source{Name: Stdin, Size: -1})
		}
		return nil
	}
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

// addPath adds the file, or what is in the directory.
func (l *lister) addPath(name string, info fs.FileInfo) error {
	if !info.IsDir() {
		return l.addFile(name, info)
	}
	found := false
	// The separator makes WalkDir follow a link to a directory.
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
		if entry.IsDir() || !l.names.Are(entry.Name()) {
			return nil
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		found = true
		return l.addFile(filepath.Clean(path), info)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: no file in this directory has the name of %s: %w", name, l.names.What, fs.ErrNotExist)
	}
	return err
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
	source := Source{Name: name, Path: path, Size: -1, ModTime: info.ModTime()}
	if info.Mode().IsRegular() {
		source.Size = info.Size()
	}
	l.sources = append(l.sources, source)
	return nil
}
