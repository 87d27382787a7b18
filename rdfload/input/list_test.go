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
	for _, name := range []string{"b.nt", "a.ttl.gz", "README.md", ".hidden.nt", "sub/c.rdf", "sub/[1].nq", ".git/x.nt", "none/notes.txt"} {
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
		args []string
		want []string
		err  string
	}{
		{[]string{"b.nt"}, []string{"b.nt"}, ""},
		{[]string{"README.md", "-", "-"}, []string{"README.md", "-"}, ""},
		{[]string{"."}, []string{"a.ttl.gz", "b.nt", "sub/[1].nq", "sub/c.rdf"}, ""},
		{[]string{"link"}, []string{"link/[1].nq", "link/c.rdf"}, ""},
		{[]string{"sub/[1].nq"}, []string{"sub/[1].nq"}, ""},
		{[]string{"*.nt", "sub/*"}, []string{"b.nt", "sub/[1].nq", "sub/c.rdf"}, ""},
		{[]string{"b.nt", "./b.nt", "."}, []string{"b.nt", "a.ttl.gz", "sub/[1].nq", "sub/c.rdf"}, ""},
		{[]string{"missing.nt"}, nil, "missing.nt"},
		{[]string{"*.trig"}, nil, "matches nothing"},
		{[]string{"[x"}, nil, "pattern"},
		{[]string{"none"}, nil, "no file in this directory"},
		{nil, nil, "no input named"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Chdir(dir)
			sources, err := List(test.args)
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
			if err != nil || !slices.Equal(names, test.want) {
				t.Errorf("got %q, %v; want %q", names, err, test.want)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, compressed(t, Zstd, sample), 0o644); err != nil {
		t.Fatal(err)
	}
	sources, err := List([]string{path})
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
