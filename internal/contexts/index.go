// The index of a directory of contexts.

package contexts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// IndexName is the name of the file in a directory of contexts that has the file of each URL, as one
// JSON object: {"https://schema.org/": "schemaorg.jsonld"}.
const IndexName = "contexts.json"

// readIndex returns the paths of files by URL. It rejects an index that leaves a file out, because
// nobody would notice.
func readIndex(dir string) (map[string]string, error) {
	path := filepath.Join(dir, IndexName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s is no directory", dir)
		}
		return nil, fmt.Errorf(`%s is missing; it has the file of each URL: {"https://schema.org/": "schemaorg.jsonld"}`, path)
	}
	if err != nil {
		return nil, err
	}
	var index map[string]string
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&index); err != nil || decoder.More() {
		return nil, fmt.Errorf(`%s, byte %d: expected one object of file names by URL, such as {"https://schema.org/": "schemaorg.jsonld"}`, path, decoder.InputOffset())
	}
	// 1. Make paths of names. They must be in the directory.
	var named []string
	for url, name := range index {
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("%s: the file %q of <%s> is not in the directory", path, name, url)
		}
		named = append(named, filepath.Clean(name))
		index[url] = filepath.Join(dir, name)
	}
	// 2. Look for files that it does not have.
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := entry.Name()
		extension := strings.ToLower(filepath.Ext(name))
		if name != IndexName && (extension == ".json" || extension == ".jsonld") && !slices.Contains(named, name) {
			return nil, fmt.Errorf("%s has no URL for %s; add it, or remove the file", path, name)
		}
	}
	return index, nil
}
