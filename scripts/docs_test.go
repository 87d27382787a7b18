// Tests of the links between the documents.

package scripts

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents returns the Markdown files of the repository with their texts, without blocks of code, which hold no links and
// no headings.
func documents(t *testing.T) map[string]string {
	texts := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		texts[path] = regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(string(text), "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// anchors returns the fragments that lead to the headings of a text. Like GitHub it drops all but letters, digits, hyphens and
// underscores, and writes hyphens for spaces.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#{1,6} (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading[1])), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

// TestLinks checks that each link between documents leads to a file that exists, and to a heading that this file has.
func TestLinks(t *testing.T) {
	texts := documents(t)
	found := 0
	for path, text := range texts {
		for _, link := range regexp.MustCompile(`\]\(([^()\s]+)\)`).FindAllStringSubmatch(text, -1) {
			target, fragment, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, ":") {
				continue // of another host
			}
			found++
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %s leads to no file", path, link[1])
			} else if fragment != "" && !anchors(texts[file])[fragment] {
				t.Errorf("%s: %s leads to no heading", path, link[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("%d links only", found)
	}
}
