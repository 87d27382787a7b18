// What is counted, and the rules.

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	longBody        = 25 // lines of a body; a longer one has step comments
	linesPerComment = 25 // lines of a long body for each comment in it
	maxInterface    = 5
)

// maxMethods has the most methods of a type, for the types of a folder and of those below it.
var maxMethods = map[string]int{"sparql/plan": 25}

// banned are the words of no comment and no text for users. docs/GLOSSARY.md has the ones to
// use instead.
var banned = regexp.MustCompile(`(?i)\b(whoever|whomever|lest|doors?|patience|in vain|so many as|as many as|of those that|it is waited|what there is|is about to)\b`)

var (
	word        = regexp.MustCompile(`[A-Za-z][A-Za-z']*`)
	conditional = []string{"if", "because", "when", "must"}
	relative    = []string{"that", "what", "which", "who", "where"}
)

// counts are the sums over product files, those that are no tests.
type counts struct {
	files, lines                 int
	words, conditional, relative int // of comments
	bodyLines, bodyComments      int // of bodies longer than longBody
}

func (c *counts) add(other counts) {
	c.files += other.files
	c.lines += other.lines
	c.words += other.words
	c.conditional += other.conditional
	c.relative += other.relative
	c.bodyLines += other.bodyLines
	c.bodyComments += other.bodyComments
}

func (c *counts) print(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t\n", name, c.files, c.lines, c.words,
		percent(c.conditional, c.words), percent(c.relative, c.words), percent(c.bodyComments, c.bodyLines))
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// problem is a place that breaks a rule.
type problem struct {
	file string
	line int
	text string
}

func (p problem) String() string { return fmt.Sprintf("%s:%d: %s", p.file, p.line, p.text) }

// tree is what was read of a module.
type tree struct {
	counts     map[string]counts // by folder at the top; of internal by the next one
	files      map[string]int    // product files by folder
	methods    map[string]int    // by folder and type
	packages   map[string]bool   // by folder: it has a package comment
	interfaces []string          // those of more than maxInterface methods
	folders    map[string]counts // by folder
	over       map[cellKey][]problem
	found      []problem
}

func newTree() *tree {
	return &tree{counts: map[string]counts{}, files: map[string]int{}, methods: map[string]int{}, packages: map[string]bool{},
		folders: map[string]counts{}, over: map[cellKey][]problem{}}
}

// readTree reads all Go files below a directory. Paths are relative to it.
func readTree(dir string) (*tree, error) {
	t := newTree()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != dir && (name == "testdata" || name[0] == '.') {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		t.read(fset, f, relative)
		return nil
	})
	return t, err
}

// read counts one file.
func (t *tree) read(fset *token.FileSet, f *ast.File, path string) {
	folder := filepath.Dir(path)
	test := strings.HasSuffix(path, "_test.go")
	line := func(p token.Pos) int { return fset.Position(p).Line }

	// 1. The opening of the file, and the package comment.
	opens := slices.ContainsFunc(f.Comments, func(g *ast.CommentGroup) bool {
		return g.Pos() < f.Package && strings.TrimSpace(g.Text()) != "" // without directives
	})
	if !opens {
		t.problem(path, 1, "no opening line above the package clause")
	}
	if !strings.HasSuffix(f.Name.Name, "_test") {
		t.packages[folder] = t.packages[folder] || f.Doc != nil
	}

	// 2. Banned words, in comments and in strings.
	for _, g := range f.Comments {
		for _, c := range g.List {
			t.banned(path, line(c.Pos()), c.Text)
		}
	}
	// Strings of tests and scripts are not for users.
	if !test && !strings.HasPrefix(path, "scripts") {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				t.banned(path, line(s.Pos()), s.Value)
			}
			return true
		})
	}

	// 3. Tests are not counted beyond this.
	if test {
		return
	}
	t.files[folder]++
	c := counts{files: 1, lines: line(f.FileEnd)}
	for _, g := range f.Comments {
		for _, w := range word.FindAllString(prose(g), -1) {
			w = strings.ToLower(w)
			c.words++
			if slices.Contains(conditional, w) {
				c.conditional++
			}
			if slices.Contains(relative, w) {
				c.relative++
			}
		}
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
			t.body(fset, f, path, d, &c)
		}
	}
	t.types(fset, f, path)
	if folder != "scripts/language" { // it has the words as examples
		t.words(fset, f, path)
		t.names(fset, f, path)
		t.steps(fset, f, path)
	}
	// A map has no addressable values, so the sum is written back.
	for key, sums := range map[string]map[string]counts{part(folder): t.counts, folder: t.folders} {
		sum := sums[key]
		sum.add(c)
		sums[key] = sum
	}
}

// body counts the comments inside a function that stand on lines of their own.
func (t *tree) body(fset *token.FileSet, f *ast.File, path string, d *ast.FuncDecl, c *counts) {
	if d.Recv != nil {
		t.methods[filepath.Dir(path)+"."+receiver(d.Recv.List[0].Type)]++
	}
	first, last := fset.Position(d.Body.Lbrace).Line, fset.Position(d.Body.Rbrace).Line
	lines := last - first - 1
	if lines <= longBody {
		return
	}
	// 1. Find the lines of code. A comment beside code is no step.
	code := map[int]bool{} // lines on which something other than a comment begins
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n.(type) {
		case nil:
		case *ast.CommentGroup, *ast.Comment:
			return false
		default:
			code[fset.Position(n.Pos()).Line] = true
		}
		return true
	})
	// 2. Count the lines of the other comments.
	comments := 0
	for _, g := range f.Comments {
		if g.Pos() < d.Body.Pos() || g.End() > d.Body.End() {
			continue
		}
		from, to := fset.Position(g.Pos()).Line, fset.Position(g.End()).Line
		if !code[from] {
			comments += to - from + 1
		}
	}
	c.bodyLines += lines
	c.bodyComments += comments
	if comments < lines/linesPerComment {
		t.problem(path, first, fmt.Sprintf("%s has %d lines and %d comments on lines of their own", d.Name.Name, lines, comments))
	}
}

// types notes large interfaces. An embedded interface of the same file counts with its
// methods, any other one as one.
func (t *tree) types(fset *token.FileSet, f *ast.File, path string) {
	// 1. Find the interfaces, because one may embed another that is declared later.
	sizes := map[string]*ast.InterfaceType{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			if i, ok := s.Type.(*ast.InterfaceType); ok {
				sizes[s.Name.Name] = i
			}
		}
		return true
	})
	// 2. An embedded interface of this file counts with its methods.
	var size func(i *ast.InterfaceType) int
	size = func(i *ast.InterfaceType) int {
		n := 0
		for _, m := range i.Methods.List {
			embedded, ok := m.Type.(*ast.Ident)
			switch inner := sizes[name(embedded)]; {
			case len(m.Names) > 0:
				n += len(m.Names)
			case ok && inner != nil:
				n += size(inner)
			default:
				n++
			}
		}
		return n
	}
	// 3. Keep the interfaces over the limit for the report.
	for name, i := range sizes {
		if n := size(i); n > maxInterface {
			t.interfaces = append(t.interfaces, fmt.Sprintf("%s.%s, %d methods", filepath.Dir(path), name, n))
		}
	}
}

func (t *tree) banned(path string, line int, text string) {
	if strings.HasPrefix(path, "scripts/language") {
		return
	}
	if w := banned.FindString(text); w != "" {
		t.problem(path, line, strconv.Quote(w)+" is a banned word")
	}
}

func (t *tree) problem(path string, line int, text string) {
	t.found = append(t.found, problem{path, line, text})
}

// problems returns the places that break a rule, in order.
func (t *tree) problems() []problem {
	all := slices.Clone(t.found)
	for _, folder := range t.uncommented() {
		all = append(all, problem{folder, 0, "no package comment"})
	}
	slices.SortFunc(all, func(a, b problem) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line), strings.Compare(a.text, b.text))
	})
	return all
}

// uncommented returns the folders of packages without a comment.
func (t *tree) uncommented() []string {
	var folders []string
	for folder, ok := range t.packages {
		if !ok {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	return folders
}

func (t *tree) top() []string { return slices.Sorted(maps.Keys(t.counts)) }

// part returns the folder at the top that a folder is in; of internal the next one.
func part(folder string) string {
	parts := strings.Split(folder, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return strings.Join(parts[:2], "/")
	}
	return parts[0]
}

// prose returns the text of comments without the lines that are code or drawings: those that
// are indented.
func prose(g *ast.CommentGroup) string {
	var b strings.Builder
	for line := range strings.Lines(g.Text()) {
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "    ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

func name(i *ast.Ident) string {
	if i == nil {
		return ""
	}
	return i.Name
}

// most returns the largest entry.
func most(of map[string]int) (name string, n int) {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		if of[k] > n {
			name, n = k, of[k]
		}
	}
	return name, n
}
