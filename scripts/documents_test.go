// Tests of what code, rules and documents name: each document and each section exists.

package scripts

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = ".."

// files returns the files of the repository whose names end so, by their paths in it. Folders of tools, of built
// files and of test data are left out.
func files(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			hidden := strings.HasPrefix(base, ".") && name != root && base != ".ci"
			if hidden || slices.Contains([]string{"node_modules", "built", "testdata", "bin", "dist"}, base) {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(base, ending) }) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name, err = filepath.Rel(root, name)
		if err != nil {
			return err
		}
		all[filepath.ToSlash(name)] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNamedDocuments checks that each document that a text of the repository names exists, and each section that it
// names as "SECTION" in DOCUMENT.
func TestNamedDocuments(t *testing.T) {
	named := regexp.MustCompile(`[\w./*+-]*\w\.md\b(?:#[\w-]+)?`)
	section := regexp.MustCompile(`\\*"([^"\\]+)\\*" in (docs/[\w/-]+\.md)`)
	all := files(t, ".go", ".md", ".sh", ".py", ".toml", ".yaml", ".yml", ".tpl", ".ts", ".tsx", ".service", "Makefile", "Dockerfile", ".txt")
	sections := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := all[name]
		for _, place := range named.FindAllStringIndex(text, -1) {
			document, anchor, hasAnchor := strings.Cut(strings.TrimPrefix(text[place[0]:place[1]], "//github.com/trefoildb/trefoil/blob/main/"), "#")
			switch {
			case strings.HasPrefix(document, "//"), strings.Contains(document, "*"):
				continue // an address, or a pattern
			case document == "DESIGN.md":
				continue // that of each room
			case strings.HasSuffix(name, ".go") && !strings.Contains(document, "/") && document == strings.ToLower(document):
				continue // a file of a test
			}
			document = strings.TrimPrefix(document, "./")
			for strings.HasPrefix(document, "../") {
				document = document[len("../"):]
			}
			folders := []string{"docs", "."}
			for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
				folders = append(folders, folder)
			}
			if !slices.ContainsFunc(folders, func(folder string) bool {
				file, err := os.ReadFile(filepath.Join(root, folder, document))
				return err == nil && (!hasAnchor || anchors(string(file))[anchor])
			}) {
				t.Errorf("%s names %s, which does not exist", name, text[place[0]:place[1]])
			}
		}
		for _, found := range section.FindAllStringSubmatch(text, -1) {
			sections++
			file, err := os.ReadFile(filepath.Join(root, found[2]))
			if err != nil {
				continue // reported above
			}
			if !regexp.MustCompile(`(?m)^#+ ` + regexp.QuoteMeta(found[1]) + `$`).Match(file) {
				t.Errorf("%s names %q in %s, which has no such heading", name, found[1], found[2])
			}
		}
	}
	if sections < 8 {
		t.Errorf("%d sections are named", sections)
	}
}
