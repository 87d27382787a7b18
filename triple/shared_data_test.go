// Tests with files of real data sets, if they are beside the repository.

package triple

import (
	"compress/bzip2"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/race"
)

// sharedFiles returns the N-Triples files of a data set beside the project. It checks their bytes,
// because a name's suffix is not enough.
func sharedFiles(t *testing.T, set string) []string {
	t.Helper()
	race.Skip(t)
	root := filepath.Join("..", "..", "shared", "data", set)
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing", root)
		}
		t.Skipf("%s is missing: real data is not tested", root)
	}
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".nt") || strings.HasSuffix(path, ".nt.bz2")) {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// readShared scans a file and calls use with every triple and every error.
func readShared(t *testing.T, path string, use func(Triple, error)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".bz2") {
		r = bzip2.NewReader(f)
	}
	sc := NewScanner(r, ScanOptions{Source: filepath.Base(path)})
	for {
		for sc.Scan() {
			use(sc.Triple(), nil)
		}
		if sc.Err() == nil {
			return
		}
		use(Triple{}, sc.Err())
		if _, ok := sc.Recover(); !ok {
			t.Fatal(sc.Err())
		}
	}
}

func TestDirtyData(t *testing.T) {
	accepted, rejected := 0, 0
	for _, path := range sharedFiles(t, "dirty") {
		readShared(t, path, func(_ Triple, err error) {
			if err != nil {
				rejected++
			} else {
				accepted++
			}
		})
	}
	if accepted != 102_744 || rejected != 85 {
		t.Errorf("%d accepted and %d rejected, want 102,744 and 85", accepted, rejected)
	}
}
