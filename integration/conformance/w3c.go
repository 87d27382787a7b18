// Package conformance runs W3C's test suites against the project, and holds what
// such tests need: the suites' index, and isomorphism of RDF datasets.
//
// The suites are not part of the repository. They and the sample data stand in a
// directory called shared beside the module's root, or in $TREFOIL_SHARED.
package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Test is one test of the suites' index.
type Test struct {
	Suite   string `json:"suite"`
	Dir     string `json:"dir"` // of the files, below w3c or w3c12
	ID      string `json:"id"`
	Type    string `json:"type"` // the local name of the manifest's rdf:type
	Name    string `json:"name"`
	Comment string `json:"comment"`
	Base    string `json:"base"` // Base + Action is the document's IRI

	// Files in Dir; "" where there is none, or where it is more than a file.
	Action string `json:"-"`
	Result string `json:"-"`
	// RawAction and RawResult are the index's own words, which for SPARQL are
	// objects of several files.
	RawAction json.RawMessage `json:"action"`
	RawResult json.RawMessage `json:"result"`

	root string
}

// ActionPath returns the path of the test's input.
func (t Test) ActionPath() string { return filepath.Join(t.root, t.Dir, t.Action) }

// ResultPath returns the path of what the input must give.
func (t Test) ResultPath() string { return filepath.Join(t.root, t.Dir, t.Result) }

// Load returns the tests of one suite, such as "rdf/rdf11/rdf-turtle", in the
// index's order. If the suites are absent, it ends the test as [Shared] does.
func Load(tb testing.TB, suite string) []Test {
	tb.Helper()
	dir := "w3c"
	if strings.Contains(suite, "12") {
		dir = "w3c12"
	}
	root := Shared(tb, dir)
	data, err := os.ReadFile(filepath.Join(root, "index.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var all, tests []Test
	if err := json.Unmarshal(data, &all); err != nil {
		tb.Fatalf("index.json: %v", err)
	}
	for _, test := range all {
		if test.Suite == suite {
			test.root = root
			test.Action, test.Result = fileName(test.RawAction), fileName(test.RawResult)
			tests = append(tests, test)
		}
	}
	if len(tests) == 0 {
		tb.Fatalf("index.json has no suite %q", suite)
	}
	return tests
}

// fileName returns the JSON string raw, "" where it is none.
func fileName(raw json.RawMessage) string {
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return ""
	}
	return name
}

// Shared returns the path of a file or directory in the shared directory. Where
// it is absent the test is skipped with a word, or fails where CI=true is set.
func Shared(tb testing.TB, elem ...string) string {
	tb.Helper()
	dir, err := sharedDir()
	if err == nil {
		dir = filepath.Join(append([]string{dir}, elem...)...)
		if _, err = os.Stat(dir); err == nil {
			return dir
		}
	}
	if os.Getenv("CI") == "true" {
		tb.Fatalf("the shared files are absent: %v", err)
	}
	tb.Skipf("skipped, the shared files are absent: %v", err)
	return ""
}

// sharedDir finds the shared directory.
func sharedDir() (string, error) {
	if dir := os.Getenv("TREFOIL_SHARED"); dir != "" {
		return dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(filepath.Dir(dir), "shared"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory, and TREFOIL_SHARED is not set")
		}
		dir = parent
	}
}
