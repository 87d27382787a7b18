// The import graph of the packages.

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/trefoildb/trefoil"

// mayImport is the design's import graph: which packages at the top, with all
// below them, may know which others. A package is always free within itself.
// main, internal/cli, integration and scripts stand above all and may know
// anything.
var mayImport = map[string][]string{
	"triple":   {},
	"trie":     {"triple"},
	"sparql":   {"triple"},
	"links":    {"triple"},
	"recovery": {"triple", "trie"},
	"rdfload":  {"triple", "trie", "links"},
	"node":     {"triple", "trie", "sparql", "links", "recovery", "rdfload"},
	"client":   {"triple", "sparql", "links"},
}

// withinNode is the same inside of node: what a cluster is made of. The store
// itself, package node, knows none of them but who guards its manifests.
var withinNode = map[string][]string{
	"node":               {"node/manifest"},
	"node/manifest":      {},
	"node/view":          {},
	"node/port":          {},
	"node/peer":          {},
	"node/gossip":        {},
	"node/agreement":     {"node/view", "node/manifest"},
	"node/writes":        {"node", "node/view", "node/peer"},
	"node/reads":         {"node", "node/view", "node/peer", "node/turns"},
	"node/loads":         {"node", "node/view", "node/peer"},
	"node/cluster":       {"node", "node/view", "node/port", "node/peer", "node/gossip", "node/agreement", "node/writes", "node/reads", "node/loads"},
	"node/turns":         {},
	"node/engine":        {"node", "node/turns"},
	"node/links":         {"node", "node/links/edits", "node/links/ranking"},
	"node/links/edits":   {},
	"node/links/ranking": {},
	"node/links/copies":  {"node", "node/view", "node/peer"},
	"node/links/ranges":  {"node", "node/view", "node/peer", "node/links/edits", "node/links/ranking", "node/links/copies"},
	"node/links/growing": {"node"},
	"node/httpapi":       {"node", "node/engine", "node/turns", "node/view"},
}

// below are the packages of internal that others may know, and who: they know none.
var below = map[string][]string{
	"internal/memory": {"rdfload", "node"}, "internal/bootclock": {"node"}, "internal/protocol": {"node"},
	"internal/processors": {"node", "rdfload", "links"},
}

var above = []string{"", "internal", "integration", "scripts"}

// pure are the packages with no goroutine, clock, file or socket of their own.
var pure = []string{"triple", "trie", "recovery", "sparql"}

// impure are the imports, with all below them, that would give them one.
var impure = []string{
	"os", "net", "syscall", "io/ioutil", "io/fs", "log", "embed", "plugin",
	"sync", "runtime", "math/rand", "crypto/rand", "database", "testing", "golang.org/x/sys",
}

type goPackage struct {
	Dir, ImportPath string
	GoFiles         []string
	Imports         []string
}

func TestImportGraph(t *testing.T) {
	for _, p := range packages(t) {
		from, ours := top(p.ImportPath)
		if !ours || slices.Contains(above, from) {
			continue
		}
		allowed, known := mayImport[from]
		if !known {
			t.Errorf("%s: package %s is not in the design's import graph", p.ImportPath, from)
			continue
		}
		for _, path := range p.Imports {
			to, ours := top(path)
			if slices.Contains(below[strings.TrimPrefix(path, module+"/")], from) {
				continue
			}
			if ours && to != from && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: %s may import %s only", p.ImportPath, path, from, list(allowed))
			}
		}
	}
}

func TestImportsWithinNode(t *testing.T) {
	for _, p := range packages(t) {
		from, ours := strings.CutPrefix(p.ImportPath, module+"/")
		allowed, known := withinNode[from]
		if !ours || !known {
			if from, _, _ := strings.Cut(from, "/"); ours && from == "node" && !strings.HasPrefix(p.ImportPath, module+"/node/httpapi/") {
				t.Errorf("%s is not in the graph of node's packages", p.ImportPath)
			}
			continue
		}
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module+"/")
			if _, inner := withinNode[to]; ours && inner && to != from && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: it may import %s only", p.ImportPath, path, list(allowed))
			}
		}
	}
}

// Nothing outside of the tests may lean on the test packages: the data sets are
// the one exception, for trefoil generate.
func TestNothingRestsOnIntegration(t *testing.T) {
	for _, p := range packages(t) {
		from, _ := top(p.ImportPath)
		for _, path := range p.Imports {
			to, ours := top(path)
			if !ours || to != "integration" || from == "integration" {
				continue
			}
			if from != "internal" || path != module+"/integration/workload" {
				t.Errorf("%s imports %s", p.ImportPath, path)
			}
		}
	}
}

func TestPurePackages(t *testing.T) {
	for _, p := range packages(t) {
		name, ours := top(p.ImportPath)
		if !ours || !slices.Contains(pure, name) {
			continue
		}
		for _, path := range p.Imports {
			for _, bad := range impure {
				if path == bad || strings.HasPrefix(path, bad+"/") {
					t.Errorf("%s imports %s: %s has no goroutine, clock, file or socket", p.ImportPath, path, name)
				}
			}
		}
		for _, file := range p.GoFiles {
			noGoroutineOrClock(t, filepath.Join(p.Dir, file))
		}
	}
}

// clock is what package time has beyond the arithmetic of dates and durations.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"}

// TestImpureCatches keeps the test above honest: the list must catch what the
// design names.
func TestImpureCatches(t *testing.T) {
	for _, path := range []string{"os", "os/signal", "net", "net/http", "sync", "sync/atomic"} {
		if !slices.ContainsFunc(impure, func(bad string) bool {
			return path == bad || strings.HasPrefix(path, bad+"/")
		}) {
			t.Errorf("%s would pass for pure", path)
		}
	}
}

func noGoroutineOrClock(t *testing.T, file string) {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		if spec.Path.Value == `"time"` && spec.Name != nil {
			t.Errorf("%s: time under another name", fset.Position(spec.Pos()))
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			t.Errorf("%s: a goroutine in a pure package", fset.Position(n.Pos()))
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
				t.Errorf("%s: time.%s in a pure package", fset.Position(n.Pos()), n.Sel.Name)
			}
		}
		return true
	})
}

// top returns the package at the module's top that a path is in or below; "" is
// the module's root.
func top(path string) (name string, ours bool) {
	if path == module {
		return "", true
	}
	rest, ours := strings.CutPrefix(path, module+"/")
	name, _, _ = strings.Cut(rest, "/")
	return name, ours
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing of ours"
	}
	return strings.Join(names, ", ")
}

// packages lists the module's packages.
func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=Dir,ImportPath,GoFiles,Imports", "./...")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}
