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
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/trefoildb/trefoil"

// layers is the map of docs/ARCHITECTURE.md: what each package may import of the module. A
// name stands for the package and all below it, unless these have a line of their own. A
// package may always import those below itself.
var layers = map[string][]string{
	// The pure cores.
	"triple":   {},
	"trie":     {"triple"},
	"sparql":   {"triple"},
	"links":    {"triple", small},
	"recovery": {"triple", "trie"},

	// Operators, and plans: each folder imports those after it.
	"sparql/exec/blocking":   {"triple", "sparql"},
	"sparql/exec/columnjoin": {"triple", "sparql"},
	"sparql/exec/scan":       {"triple", "sparql"},
	"sparql/plan":            {"triple", "sparql", "sparql/exec/blocking", "sparql/exec/scan", "sparql/exec/columnjoin"},
	"sparql/plan/build":      {"triple", "sparql", "sparql/exec/blocking", "sparql/exec/scan", "sparql/exec/columnjoin", "sparql/plan/order", "sparql/plan/cost"},
	"sparql/plan/order":      {"triple", "sparql", "sparql/plan/cost"},
	"sparql/plan/cost":       {"triple", "sparql"},

	"rdfload": {"triple", "trie", "links", small},
	"client":  {"triple", "sparql", "links", "internal/api"},

	// The JSON forms that a node sends and a client reads.
	"internal/api": {"sparql"},

	"internal/feed":        {"triple", "trie", "internal/systemgraph"},
	"internal/systemgraph": {"triple"},

	// Update functions, and deliveries to other servers.
	"internal/functions": {"triple", "internal/api", "trie", "rdfload", "internal/feed", "internal/systemgraph", "internal/store", small},

	// One machine.
	"internal/store":          {"triple", "internal/api", "trie", "internal/feed", "internal/systemgraph", "sparql", "links", "recovery", "rdfload", "internal/store/synced", small},
	"internal/store/database": {"triple", "internal/store", "internal/store/synced", small},
	"internal/store/synced":   {},
	"internal/backup":         {"triple", "trie", "internal/feed", "internal/systemgraph", "rdfload", "internal/store"},
	"internal/readtimeout":    {"internal/store"},
	"internal/replica":        {"triple", "trie", "internal/feed", "recovery", "internal/store", "internal/store/database"},
	"internal/turns":          {small},
	"internal/outbound":       {},
	"internal/contexts":       {"triple", "rdfload", "internal/outbound"},
	"internal/webhook":        {"internal/outbound"},
	"internal/password":       {},
	"internal/oidc":           {},
	"internal/audit":          {},
	"internal/graphrights":    {"triple", "sparql", "internal/store"},
	"internal/prefixes":       {"triple", "sparql", "internal/store", "internal/systemgraph"},
	"internal/readcount":      {"triple", "sparql", "internal/feed", "internal/store"},
	"internal/subscriptions":  {"triple", "internal/api", "internal/feed", "internal/readcount", "internal/store", "internal/systemgraph", "internal/webhook", small},
	"internal/engine":         {"triple", "sparql", "links", "rdfload", "internal/store", "internal/textindex", "internal/textsearch", "internal/turns", "internal/outbound", "internal/graphrights", "internal/prefixes", "internal/systemgraph", small},

	// Many machines. Only internal/cluster itself, the member, knows all parts.
	"internal/cluster":           {"triple", "internal/api", "trie", "internal/feed", "internal/backup", "sparql", "recovery", "rdfload", "internal/replica", "internal/store", "internal/readtimeout", small},
	"internal/cluster/view":      {"trie", "recovery", small},
	"internal/cluster/gossip":    {"trie", small},
	"internal/cluster/peer":      {"trie", small},
	"internal/cluster/port":      {small},
	"internal/cluster/agreement": {"trie", "internal/cluster/view", "internal/store/database", "internal/store/synced", small},
	"internal/cluster/gate":      {"trie", "internal/replica", "internal/store", "internal/cluster/view", "internal/cluster/peer", small},
	"internal/cluster/backfill":  {"triple", "trie", "recovery", "internal/replica", "internal/store", "internal/cluster/view", "internal/cluster/gate", "internal/cluster/peer", "internal/cluster/throttle", "internal/cluster/writes", small},
	"internal/cluster/upkeep":    {"triple", "internal/api", "trie", "recovery", "internal/replica", "internal/store", "internal/cluster/view", "internal/cluster/gate", "internal/cluster/peer", "internal/cluster/throttle", "internal/cluster/writes", "internal/cluster/backfill", small},
	"internal/cluster/leader": {"triple", "internal/api", "trie", "recovery", "internal/replica", "internal/store", "internal/cluster/view", "internal/cluster/agreement", "internal/cluster/gossip",
		"internal/cluster/peer", "internal/cluster/backfill", "internal/cluster/upkeep", small},
	"internal/cluster/generation": {"trie", "internal/replica", "internal/store", "internal/cluster/view", "internal/cluster/agreement", "internal/cluster/port"},
	"internal/cluster/throttle":   {small},
	"internal/cluster/member":     {"trie", "internal/cluster/view", "internal/cluster/peer", small},
	"internal/cluster/ticks":      {"triple", "trie", "internal/store", "internal/cluster/view", "internal/cluster/peer", "internal/cluster/member"},
	"internal/cluster/lock":       {"trie", "internal/store", "internal/cluster/view", "internal/cluster/peer", "internal/cluster/member", small},
	"internal/cluster/writes":     {"triple", "trie", "recovery", "internal/replica", "internal/store", "internal/cluster/view", "internal/cluster/gate", "internal/cluster/peer", "internal/cluster/member", "internal/cluster/ticks", small},
	"internal/cluster/reads":      {"triple", "trie", "sparql", "recovery", "internal/replica", "internal/store", "internal/readtimeout", "internal/turns", "internal/cluster/view", "internal/cluster/peer", "internal/cluster/member", small},
	"internal/cluster/loads":      {"triple", "trie", "recovery", "rdfload", "internal/replica", "internal/store", "internal/cluster/view", "internal/cluster/peer", "internal/cluster/member"},

	"internal/cluster/changes": {"triple", "trie", "internal/feed", "recovery", "internal/replica", "internal/store", "internal/readtimeout", "internal/cluster/view", "internal/cluster/peer", "internal/cluster/member", "internal/cluster/writes", small},

	// What indexes that follow the feed share, and the live graph of links.
	"internal/derived":   {"triple", "trie", "recovery", "internal/feed", "rdfload", "internal/store", "internal/readtimeout", "internal/cluster/view", "internal/cluster/peer", small},
	"internal/linkgraph": linkParts("pagerank", "update", "read", "keep", "build", "assign", "route", "state", "pagerows", "machine", "ranking"),
	// Its folders, from the top: no reference between them runs back up.
	"internal/linkgraph/pagerank": linkParts("keep", "read", "route", "state", "machine"),
	"internal/linkgraph/update":   linkParts("read", "assign", "route", "state", "machine", "edits"),
	"internal/linkgraph/read":     linkParts("route", "state", "pagerows", "machine", "edits"),
	"internal/linkgraph/keep":     linkParts("build", "assign", "route", "state", "pagerows", "machine"),
	"internal/linkgraph/build":    linkParts("assign", "route", "state", "pagerows", "machine"),
	"internal/linkgraph/assign":   linkParts("route", "state", "pagerows", "machine"),
	"internal/linkgraph/route":    linkParts("state", "machine"),
	"internal/linkgraph/state":    linkParts("pagerows", "machine"),
	"internal/linkgraph/pagerows": linkParts("linkrows"),
	"internal/linkgraph/machine":  linkParts(),
	"internal/linkgraph/edits":    {"triple", "links"},
	"internal/linkgraph/linkrows": {"triple", "sparql", "links", "internal/store"},
	"internal/linkgraph/ranking":  {"links"},

	// Text search: the core, which is pure, and the index of a node.
	"internal/textindex":  {},
	"internal/textsearch": {"triple", "internal/api", "trie", "internal/feed", "internal/systemgraph", "internal/textindex", "internal/store", "internal/derived", "internal/readtimeout", "internal/cluster/view", "internal/cluster/peer", small},

	"internal/server": {"triple", "internal/api", "trie", "internal/feed", "internal/systemgraph", "sparql", "links", "recovery", "rdfload", "internal/backup", "internal/store", "internal/readtimeout", "internal/engine", "internal/turns", "internal/cluster/view", "internal/textindex", "internal/textsearch", "internal/audit", "internal/functions", "internal/graphrights", "internal/linkgraph/linkrows", "internal/linkgraph/ranking", "internal/oidc", "internal/password", "internal/prefixes", "internal/readcount", "internal/subscriptions", small},
	"internal/cert":   {"internal/cluster/port", small},

	// The public face: a store in a program, or a node that serves.
	"node": {"triple", "client", "internal/backup", "internal/feed", "sparql", "links", "rdfload", "internal/replica", "internal/store", "internal/store/database", "internal/engine", "internal/contexts", "internal/outbound", "internal/cluster", "internal/cluster/view",
		"internal/cluster/port", "internal/linkgraph", "internal/textsearch",
		"internal/server", "internal/audit", "internal/functions", "internal/oidc", "internal/prefixes", "internal/readcount", "internal/subscriptions", "internal/webhook", small},

	"internal/dataset": {"triple", "links"},

	// The rooms of the command line, from below.
	"internal/cli/console":   {"links", "rdfload", small},
	"internal/cli/target":    {"triple", "sparql", "links", "rdfload", "client", "node", "internal/prefixes", "internal/store", "internal/cli/console"},
	"internal/cli/documents": {"triple", "rdfload", "internal/contexts", "internal/prefixes", "internal/cli/console", "internal/cli/target"},
	"internal/cli/rdf":       {"triple", "links", "rdfload", "client", "internal/dataset", "internal/prefixes", "internal/store", "internal/systemgraph", "internal/cli/console", "internal/cli/target", "internal/cli/documents", small},
	"internal/cli/query":     {"triple", "sparql", "rdfload", "client", "internal/prefixes", "internal/store", "internal/cli/console", "internal/cli/target"},
	"internal/cli/load":      {"triple", "links", "rdfload", "client", "internal/linkgraph/edits", "internal/prefixes", "internal/store", "internal/cli/console", "internal/cli/target", "internal/cli/documents", small},
	"internal/cli/links":     {"links", "client", "internal/cli/console", "internal/cli/target", "internal/cli/load"},
	"internal/cli/cluster":   {"trie", "client", "node", "internal/cert", "internal/cluster/generation", "internal/cluster/view", "internal/store", "internal/cli/console", "internal/cli/target", small},
	"internal/cli/admin":     {"triple", "client", "internal/backup", "internal/feed", "internal/prefixes", "internal/store", "internal/cli/console", "internal/cli/target", small},
	"internal/cli/serve":     {"node", "internal/password", "internal/cli/console", "internal/cli/target", small},

	// What a machine is: these import nothing of the module.
	"internal/atomicfile": {}, "internal/memory": {}, "internal/bootclock": {}, "internal/protocol": {}, "internal/processors": {}, "internal/logs": {}, "internal/notify": {}, "internal/retry": {}, "internal/tracing": {"internal/logs"},
}

// linkParts are the imports of the graph of links: those of all of it, and some of its folders.
func linkParts(folders ...string) []string {
	all := []string{"triple", "trie", "sparql", "recovery", "internal/feed", "links", "rdfload", "internal/store", "internal/derived", "internal/readtimeout", "internal/systemgraph", "internal/cluster/view", "internal/cluster/peer", small}
	for _, f := range folders {
		all = append(all, "internal/linkgraph/"+f)
	}
	return all
}

// small stands for the packages about the machine that a process runs on, and its files.
const small = "internal/{atomicfile,memory,bootclock,notify,protocol,processors,logs,retry,tracing}"

// above may import everything: the binary, its commands, tests, examples and tools. Nothing imports
// them.
var above = []string{"", "internal/cli", "internal/testing", "integration", "examples", "scripts"}

// pure are the packages with no goroutine, clock, file or socket of their own.
var pure = []string{"triple", "trie", "recovery", "sparql", "internal/textindex"}

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
		from, ours := layer(p.ImportPath)
		if !ours || slices.Contains(above, from) {
			continue
		}
		allowed, known := layers[from]
		if !known {
			t.Errorf("%s is not in the map of packages", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			to, ours := layer(path)
			inside := to == from || strings.HasPrefix(to, from+"/")
			machine := slices.Contains(allowed, small) && slices.Contains([]string{"atomicfile", "memory", "bootclock", "notify", "protocol", "processors", "logs", "retry", "tracing"}, strings.TrimPrefix(to, "internal/"))
			if ours && !inside && !machine && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: %s may import %s only", p.ImportPath, path, from, list(allowed))
			}
		}
	}
}

func TestPurePackages(t *testing.T) {
	for _, p := range packages(t) {
		name, ours := layer(p.ImportPath)
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

// layer returns the entry of layers or of above that a package belongs to: its own, or
// that of the nearest folder above it.
func layer(path string) (name string, ours bool) {
	if path == module {
		return "", true
	}
	name, ours = strings.CutPrefix(path, module+"/")
	for of := name; ours && of != "."; of = filepath.Dir(of) {
		if _, ok := layers[of]; ok || slices.Contains(above, of) {
			return of, true
		}
	}
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

// TestMapNamesPackages: docs/ARCHITECTURE.md names every package, and no other one. A name
// with braces stands for several: internal/cluster/{reads,writes}.
func TestMapNamesPackages(t *testing.T) {
	text, err := os.ReadFile("../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, quoted := range regexp.MustCompile("`([a-z][a-z0-9/]*)(?:\\{([a-z,]+)\\})?`").FindAllStringSubmatch(string(text), -1) {
		for _, last := range strings.Split(quoted[2], ",") {
			named[quoted[1]+last] = true
		}
	}
	exists := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		exists[name], exists[filepath.Dir(name)] = true, true // the folder of packages may be none itself
		if name != "" && !named[name] {
			t.Errorf("docs/ARCHITECTURE.md does not name %s", name)
		}
	}
	for name := range named {
		if strings.Contains(strings.TrimSuffix(name, "/"), "/") && !exists[name] {
			t.Errorf("docs/ARCHITECTURE.md names %s, which is no package", name)
		}
	}
}

// designs returns the DESIGN.md files, as paths from the root of the repository.
func designs(t *testing.T) (paths []string) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != ".." || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.Name() == "DESIGN.md" {
			paths = append(paths, strings.TrimPrefix(filepath.ToSlash(path), "../"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 10 {
		t.Fatalf("%d rooms have a DESIGN.md", len(paths))
	}
	return paths
}

// TestDesignsAreListed: docs/ARCHITECTURE.md leads to the DESIGN.md of each room, and is short enough to be read to its end.
func TestDesignsAreListed(t *testing.T) {
	text, err := os.ReadFile("../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 220 {
		t.Errorf("docs/ARCHITECTURE.md has %d lines, more than 220: a decision belongs into the DESIGN.md of its room", lines)
	}
	for _, path := range designs(t) {
		if !strings.Contains(string(text), "](../"+path+")") {
			t.Errorf("docs/ARCHITECTURE.md does not link to %s", path)
		}
	}
}

// TestDocsNameFiles: each Go file that these documents name with its folder exists. A DESIGN.md names files by their paths
// from the root or from its own folder.
func TestDocsNameFiles(t *testing.T) {
	var docs []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, found, err)
		}
		for _, doc := range found {
			docs = append(docs, strings.TrimPrefix(filepath.ToSlash(doc), "../"))
		}
	}
	rooted := regexp.MustCompile("`((?:[a-z]+/)*(?:internal|integration|sparql|links|rdfload|recovery|trie|triple|node|client)/[a-zA-Z0-9_/*]+\\.go)`")
	any := regexp.MustCompile("`([a-zA-Z0-9_/*]+\\.go)`")
	check := func(doc string, names *regexp.Regexp, folders ...string) {
		text, err := os.ReadFile(filepath.Join("..", doc))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names.FindAllStringSubmatch(string(text), -1) {
			found := false
			for _, folder := range folders {
				files, err := filepath.Glob(filepath.Join("..", folder, name[1]))
				found = found || err == nil && len(files) > 0
			}
			if !found {
				t.Errorf("%s names %s, which does not exist", doc, name[1])
			}
		}
	}
	for _, doc := range docs {
		check(doc, rooted, "")
	}
	for _, doc := range designs(t) {
		check(doc, any, "", filepath.Dir(doc))
	}
}
