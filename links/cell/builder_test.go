// Tests of the builder's errors, and of files.

package cell

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"empty range": {Range: uid.Range{First: 2, Last: 1}},
		"metadata":    {Meta: make([]byte, maxMeta+1)},
		"workers":     {Workers: -1},
		"codec":       {Lists: lists.Options{Codec: 99}},
	} {
		if _, err := NewBuilder(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestBuilderErrors(t *testing.T) {
	a, b, c := uid.Make(4, 1, 0), uid.Make(4, 1, 1), uid.Make(4, 1, 2)
	far := uid.Make(9, 1, 0)
	for _, test := range []struct {
		name  string
		pages []uid.UID
		edges []Edge
		want  error
	}{
		{"page twice", []uid.UID{a, a}, nil, ErrOrder},
		{"pages descend", []uid.UID{b, a}, nil, ErrOrder},
		{"page of another range", []uid.UID{a, far}, nil, ErrRange},
		{"no page", []uid.UID{0}, nil, ErrRange},
		{"host 0", []uid.UID{uid.UID(4) << (uid.HostBits + uid.PageBits)}, nil, ErrRange},
		{"edges descend", []uid.UID{a, b}, []Edge{{b, a}, {a, b}}, ErrOrder},
		{"targets descend", []uid.UID{a, b}, []Edge{{a, b}, {a, a}}, ErrOrder},
		{"from no page", []uid.UID{a}, []Edge{{c, a}}, ErrUnknownPage},
		{"from a page before all", []uid.UID{b}, []Edge{{a, b}}, ErrUnknownPage},
		{"from another range", []uid.UID{a}, []Edge{{far, a}}, ErrUnknownPage},
		{"to UID 0", []uid.UID{a}, []Edge{{a, 0}}, ErrUnknownPage},
		{"to host 0", []uid.UID{a, b}, []Edge{{a, b}, {a, uid.UID(5) << (uid.HostBits + uid.PageBits)}}, ErrUnknownPage},
		{"to host 0 of the range", []uid.UID{a}, []Edge{{a, uid.UID(4) << (uid.HostBits + uid.PageBits)}}, ErrUnknownPage},
	} {
		for _, d := range []Direction{Forward, Backward} {
			builder, err := NewBuilder(Options{Range: testRange})
			require.NoError(t, err)
			for _, u := range test.pages {
				err = errors.Join(err, builder.AddPage(u, []byte(u.String())))
			}
			// The error may come from AddPage, AddEdges or Build. After it every call must
			// return it.
			err = errors.Join(err, builder.AddEdges(d, test.edges, nil))
			_, buildErr := builder.Build()
			if !errors.Is(errors.Join(err, buildErr), test.want) || buildErr == nil {
				t.Errorf("%s, %s: %v, then %v, want %v", test.name, d, err, buildErr, test.want)
			}
		}
	}
}

func TestBuilderMisuse(t *testing.T) {
	a, b := uid.Make(4, 1, 0), uid.Make(4, 1, 1)
	builder, err := NewBuilder(Options{})
	require.NoError(t, err)
	require.NoError(t, builder.AddPage(a, []byte("a")))
	if err := builder.AddEdges(Backward, []Edge{{a, b}}, []Label{NoLabel}); err == nil {
		t.Error("labels of backward edges: no error")
	}
	if err := builder.AddEdges(Forward, []Edge{{a, b}}, []Label{}); err == nil {
		t.Error("too few labels: no error")
	}
	require.NoError(t, builder.AddEdges(Forward, []Edge{{a, b}}, nil))
	if err := builder.AddPage(b, []byte("b")); !errors.Is(err, ErrOrder) {
		t.Errorf("a page after the edges: %v", err)
	}
	if _, err := builder.Build(); !errors.Is(err, ErrOrder) {
		t.Errorf("build after an error: %v", err)
	}
	failed := errors.New("failed")
	builder, err = NewBuilder(Options{Sketches: func(*Cell) ([]byte, error) { return nil, failed }})
	require.NoError(t, err)
	if _, err := builder.Build(); !errors.Is(err, failed) {
		t.Errorf("sketches fail: %v", err)
	}
	if builder, err = NewBuilder(Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := builder.Build(); err != nil {
		t.Fatal(err)
	}
	if _, err := builder.Build(); err == nil {
		t.Error("a second Build: no error")
	}
}

var testRange = uid.Slots{First: 4, Last: 4}.Range()

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.cell")
	if _, err := OpenFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	data := golden(t)
	// WriteFile must overwrite the temporary file of an earlier stop.
	require.NoError(t, os.WriteFile(path+atomicfile.Suffix, bytes.Repeat([]byte("left"), len(data)), 0o644))
	for range 2 {
		require.NoError(t, WriteFile(path, data))
		c, err := OpenFile(path)
		require.NoError(t, err)
		if !bytes.Equal(c.Bytes(), data) {
			t.Error("other bytes came back")
		}
	}
	if _, err := os.Stat(path + atomicfile.Suffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary file: %v", err)
	}
	// If the old file is open, its reader must still see the old cell, because a rename does not
	// overwrite it.
	old, err := os.Open(path)
	require.NoError(t, err)
	defer old.Close()
	require.NoError(t, WriteFile(path, newGraph(testRange).bytes(t, Options{}, nil)))
	if got, err := io.ReadAll(old); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the old file has changed: %d bytes, %v", len(got), err)
	}
	require.NoError(t, os.WriteFile(path, data[:len(data)-8], 0o644))
	if _, err := OpenFile(path); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a cut file: %v", err)
	}
	if err := WriteFile(filepath.Join(path, "in a file"), data); err == nil {
		t.Error("a path that cannot be: no error")
	}
	// If the rename fails, the old state must stay, without a temporary file.
	blocked := filepath.Join(t.TempDir(), "directory")
	require.NoError(t, os.MkdirAll(filepath.Join(blocked, "not empty"), 0o755))
	if err := WriteFile(blocked, data); err == nil {
		t.Error("in the place of a directory: no error")
	}
	if _, err := os.Stat(blocked + atomicfile.Suffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary file: %v", err)
	}
}

// If writerPath is in the environment, the test binary writes cells for ever.
const writerPath = "TREFOIL_CELL_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerPath); path != "" {
		writeForEver(path)
	}
	os.Exit(m.Run())
}

// writeForEver writes two large cells in turns and prints a line after each.
func writeForEver(path string) {
	var cells [2][]byte
	for i := range cells {
		b, err := NewBuilder(Options{Epoch: uint64(i), Sketches: func(*Cell) ([]byte, error) {
			return bytes.Repeat([]byte{byte(i)}, 8<<20), nil
		}})
		if err != nil {
			panic(err)
		}
		if cells[i], err = b.Build(); err != nil {
			panic(err)
		}
	}
	for i := 0; ; i++ {
		if err := WriteFile(path, cells[i%2]); err != nil {
			panic(err)
		}
		if _, err := os.Stdout.WriteString("written\n"); err != nil {
			panic(err)
		}
	}
}

// TestKilledWriter kills writers while they write. The file must stay whole.
func TestKilledWriter(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	path := filepath.Join(t.TempDir(), "a.cell")
	for round := range 8 {
		writer := exec.Command(os.Args[0])
		writer.Env = append(os.Environ(), writerPath+"="+path)
		out, err := writer.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, writer.Start())
		lines := bufio.NewScanner(out)
		for range 1 + round%3 {
			if !lines.Scan() {
				t.Error("the writer writes nothing")
			}
		}
		require.NoError(t, writer.Process.Kill())
		_ = writer.Wait() // killed
		if _, err := OpenFile(path); err != nil {
			t.Fatalf("in round %d: %v", round, err)
		}
	}
}

// TestLinksStops stops in the middle of lists of both kinds.
func TestLinksStops(t *testing.T) {
	g := oddWebs(random(t))["all to one, one to all"]
	c := g.build(t, Options{}, nil)
	for ord := range uint32(c.Len()) {
		whole := c.AppendLinks(nil, Backward, ord)
		for _, n := range []int{0, 1, len(whole) / 2} {
			var got []uid.UID
			for u := range c.Links(Backward, ord) {
				if len(got) == n {
					break
				}
				got = append(got, u)
			}
			if !slices.Equal(got, whole[:min(n, len(whole))]) {
				t.Fatalf("the first %d links of ordinal %d: %v", n, ord, got)
			}
		}
		if ord > 20 && len(whole) < 2 {
			break
		}
	}
}
