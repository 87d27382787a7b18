// Tests of lists of sources.

package input

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.nt", "a.ttl.gz", "README.md", ".hidden.nt", "sub/c.rdf", "sub/[1].nq", "sub/d.n3", "sub/e.json", ".git/x.nt", "none/notes.txt", "none/.hidden", "empty/.keep"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(sample), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "sub"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args    []string
		want    []string
		skipped Skipped
		err     string
	}{
		{[]string{"b.nt"}, []string{"b.nt"}, nil, ""},
		{[]string{"README.md", "-", "-"}, []string{"README.md", "-"}, nil, ""},
		{[]string{"."}, []string{"a.ttl.gz", "b.nt", "sub/[1].nq", "sub/c.rdf"}, Skipped{"README.md", "link", "none/notes.txt", "sub/d.n3", "sub/e.json"}, ""},
		{[]string{"link"}, []string{"link/[1].nq", "link/c.rdf"}, Skipped{"link/d.n3", "link/e.json"}, ""},
		{[]string{"sub/[1].nq"}, []string{"sub/[1].nq"}, nil, ""},
		{[]string{"sub", "./sub"}, []string{"sub/[1].nq", "sub/c.rdf"}, Skipped{"sub/d.n3", "sub/e.json"}, ""},
		{[]string{"sub", "sub/d.n3"}, []string{"sub/[1].nq", "sub/c.rdf", "sub/d.n3"}, Skipped{"sub/e.json"}, ""},
		{[]string{"*.nt", "sub/*.[qr]*"}, []string{"b.nt", "sub/c.rdf"}, nil, ""},
		{[]string{"*.nt", "sub/*"}, []string{"b.nt", "sub/[1].nq", "sub/c.rdf", "sub/d.n3", "sub/e.json"}, nil, ""},
		{[]string{"b.nt", "./b.nt", "sub"}, []string{"b.nt", "sub/[1].nq", "sub/c.rdf"}, Skipped{"sub/d.n3", "sub/e.json"}, ""},
		{[]string{"missing.nt"}, nil, nil, "missing.nt"},
		{[]string{"*.trig"}, nil, nil, "matches nothing"},
		{[]string{"[x"}, nil, nil, "pattern"},
		{[]string{"none"}, nil, nil, "none: no file in this directory has the name of an RDF syntax, but it has none/notes.txt; to read"},
		{[]string{"empty"}, nil, nil, "empty: no file in this directory has the name of an RDF syntax: "},
		{nil, nil, nil, "no input named"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Chdir(dir)
			sources, skipped, err := List(test.args, RDF)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got %v, want %s", err, test.err)
				}
				if test.err == "missing.nt" && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%v is not fs.ErrNotExist", err)
				}
				return
			}
			var names []string
			for _, source := range sources {
				names = append(names, strings.TrimPrefix(source.Name, dir+"/"))
				if !source.IsStdin() && (!filepath.IsAbs(source.Path) || source.Size != int64(len(sample)) || source.ModTime.IsZero()) {
					t.Errorf("%+v", source)
				}
			}
			if err != nil || !slices.Equal(names, test.want) || !slices.Equal(skipped, test.skipped) {
				t.Errorf("got %q without %q, %v; want %q without %q", names, skipped, err, test.want, test.skipped)
			}
		})
	}
}

// TestSkipped: a message names some of the files, and how many there are.
func TestSkipped(t *testing.T) {
	n := Names{What: "KIND", Hint: "HINT"}
	for _, test := range []struct {
		skipped Skipped
		want    string
	}{
		{nil, ""},
		{Skipped{"d/a.n3"}, "d/a.n3 is left out, because its name is not of KIND; HINT"},
		{Skipped{"a", "b"}, "2 files of directories are left out, because their names are not of KIND: a, b; HINT"},
		{Skipped{"a", "b", "c", "d", "e", "f", "g"}, "7 files of directories are left out, because their names are not of KIND: a, b, c, d, e and 2 more; HINT"},
	} {
		if got := test.skipped.Warning(n); got != test.want {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, compressed(t, Zstd, sample), 0o644); err != nil {
		t.Fatal(err)
	}
	sources, _, err := List([]string{path}, RDF)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sources[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(r); string(out) != sample || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Read(make([]byte, 1)); err == nil {
		t.Error("a closed reader was read")
	}
	if err := r.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
