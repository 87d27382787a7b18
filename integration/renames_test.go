// Every file that is replaced must be replaced by package atomicfile.

package integration

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// renames lists the other files of the program that rename, with the reason.
var renames = map[string]string{
	"internal/atomicfile/atomicfile.go":     "it does the work",
	"internal/store/directory/files.go":     "the same on a file system of Pebble",
	"internal/store/directory/set_aside.go": "it moves many files, and syncs both directories once",
	"internal/store/database/guard.go":      "it passes Pebble's calls on",
}

// TestRenames finds renames and syncs of directories outside of package atomicfile. A rename
// without a sync of the directory may be undone by a loss of power.
func TestRenames(t *testing.T) {
	call := regexp.MustCompile(`\b(os|fs|FS)\.Rename\(|func sync[dD]ir`)
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || name == "integration" || d.Name() == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if call.Match(text) {
			found[name] = true
			if renames[name] == "" {
				t.Errorf("%s: use atomicfile.Replace or directory.Rename", name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range renames {
		if !found[name] {
			t.Errorf("%s does not rename any more: remove it from the list", name)
		}
	}
}
