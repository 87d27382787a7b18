// Replacement on a file system that loses what was not synced, and files of the operating system.

package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// lossy is a file system of one directory that counts its steps. lost is what a loss of power
// leaves: the names at the last SyncDir, and the data at the last Sync of each file.
type lossy struct {
	now, names map[string]*lossyFile
	steps      []func() // each checks the state after a step
	fail       int      // the step that fails; 0 is none
	step       int
}

type lossyFile struct {
	fs           *lossy
	data, synced []byte
}

var errStep = errors.New("the disk fails")

// next counts a step.
func (l *lossy) next() error {
	l.step++
	for _, check := range l.steps {
		check()
	}
	if l.step == l.fail {
		return errStep
	}
	return nil
}

func (l *lossy) Create(path string, _ fs.FileMode) (File, error) {
	f := &lossyFile{fs: l}
	l.now[path] = f
	return f, l.next()
}

func (l *lossy) Rename(from, to string) error {
	if err := l.next(); err != nil {
		return err
	}
	l.now[to] = l.now[from]
	delete(l.now, from)
	return nil
}

func (l *lossy) Remove(path string) error {
	delete(l.now, path)
	return nil
}

func (l *lossy) SyncDir(string) error {
	if err := l.next(); err != nil {
		return err
	}
	l.names = map[string]*lossyFile{}
	maps.Copy(l.names, l.now)
	return nil
}

func (f *lossyFile) Write(b []byte) (int, error) {
	f.data = append(f.data, b...)
	return len(b), f.fs.next()
}

func (f *lossyFile) Sync() error {
	err := f.fs.next()
	if err == nil {
		f.synced = slices.Clone(f.data)
	}
	return err
}

func (f *lossyFile) Close() error { return f.fs.next() }

func replaceText(l *lossy, text string) error {
	return Replace(l, "file", 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// A loss of power after any step leaves the old file or the new one, in each of the two states that
// a directory may have. After Replace it is the new one.
func TestReplace(t *testing.T) {
	for fail := range 8 { // 0 is no failure; Replace has six steps
		l := &lossy{now: map[string]*lossyFile{}, names: map[string]*lossyFile{}}
		require.NoError(t, replaceText(l, "old"))
		l.step, l.fail = 0, fail
		l.steps = append(l.steps, func() {
			for what, names := range map[string]map[string]*lossyFile{"synced": l.names, "unsynced": l.now} {
				f := names["file"]
				if f == nil || string(f.synced) != "old" && string(f.synced) != "new" {
					t.Errorf("step %d, %s names: %+v", l.step, what, f)
				}
			}
		})
		err := replaceText(l, "new")
		failed := fail >= 1 && fail <= 6
		if failed != errors.Is(err, errStep) {
			t.Errorf("step %d fails: %v", fail, err)
		}
		if err == nil && string(l.names["file"].synced) != "new" {
			t.Errorf("the new file is not durable: %q", l.names["file"].synced)
		}
		if l.now["file"+Suffix] != nil && fail != 1 {
			t.Errorf("step %d fails: the other name is left", fail)
		}
	}
}

// A file of the operating system gets its mode, whatever a stop has left under the other name.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path+Suffix, []byte("left by a stop, and readable"), 0o644))
	for _, text := range []string{"one", "two"} {
		require.NoError(t, Write(path, 0o600, []byte(text)))
		got, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		require.NoError(t, errors.Join(err, statErr))
		if string(got) != text || info.Mode().Perm() != 0o600 {
			t.Errorf("%q with mode %v", got, info.Mode())
		}
	}
	if err := WriteNew(path, 0o600, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a new file in the place of one: %v", err)
	}
	if err := WriteNew(path+"2", 0o600, []byte("x")); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 {
		t.Errorf("files %v, %v", entries, err)
	}
}
