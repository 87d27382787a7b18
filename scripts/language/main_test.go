// The rules, on the module itself and on small examples.

package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	tree, err := readTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tree.problems() {
		t.Error(p)
	}
	// 1. What holds for each folder.
	ceilings, err := readCeilings(ceilingsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Concat(tree.above(ceilings), tree.rates(), tree.large()) {
		t.Error(p)
	}
	// 2. The targets of CONTRIBUTING.md, for all product code together.
	var sum counts
	for _, part := range tree.top() {
		sum.add(tree.counts[part])
	}
	if n := percent(sum.conditional, sum.words); n < 1.9 {
		t.Errorf("%.1f of if, because, when, must in 100 words of comments, want 1.9", n)
	}
	if n := percent(sum.relative, sum.words); n > 2.5 {
		t.Errorf("%.1f of that, what, which, who, where in 100 words of comments, want at most 2.5", n)
	}
}

func TestCounts(t *testing.T) {
	long := strings.Repeat("\ta()\n", 26)
	for _, c := range []struct {
		name, file, source string
		want               []string
	}{
		{"clean", "a/a.go", "// Holds a.\n\n// Package a is an example.\npackage a\n", nil},
		{"package comment alone", "a/a.go", "// Package a is an example.\npackage a\n", nil},
		{"no opening line", "a/a_test.go", "package a\n", []string{"a:0: no package comment", "a/a_test.go:1: no opening line above the package clause"}},
		{"a directive is none", "a/a_test.go", "//go:build linux\n\npackage a_test\n", []string{"a/a_test.go:1: no opening line above the package clause"}},
		{"banned word", "a/a.go", "// Package a has\n// a door.\npackage a\n", []string{`a/a.go:2: "door" is a banned word`}},
		{"banned word in a text", "a/a.go", "// Package a\npackage a\n\nconst c = `whoever`\n", []string{`a/a.go:4: "whoever" is a banned word`}},
		{"part of a word", "a/a.go", "// Package a has an indoor pool.\npackage a\n", nil},
		{"long body", "a/a.go", "// Package a\npackage a\n\nfunc f() {\n" + long + "}\n", []string{"a/a.go:4: f has 26 lines and 0 comments on lines of their own"}},
		{"long body with a step", "a/a.go", "// Package a\npackage a\n\nfunc f() {\n\t// 1. A step.\n" + long + "}\n", nil},
		{"a comment of a declaration in it", "a/a.go", "// Package a\npackage a\n\nfunc f() {\n\t// 1. A step.\n\tvar x int\n" + long + "}\n", nil},
		{"a comment beside code is no step", "a/a.go", "// Package a\npackage a\n\nfunc f() {\n\ta() // beside\n" + long + "}\n",
			[]string{"a/a.go:4: f has 27 lines and 0 comments on lines of their own"}},
	} {
		tree := parse(t, c.file, c.source)
		var got []string
		for _, p := range tree.problems() {
			got = append(got, p.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPlaces checks the rules with ceilings.
func TestPlaces(t *testing.T) {
	const head = "// Package a\npackage a\n\n"
	for _, c := range []struct {
		name, source string
		want         []string
	}{
		{"words", "// Package a asks. It\n// settles, if ASK or \"ask\" or [ask] or an ask-file or a task is noted.\npackage a\n",
			[]string{"word 1", "word 2", "word 2", "word 2"}},
		{"words of a block", "/* Package a\nasks. */\npackage a\n", []string{"word 2"}},
		{"names", head + "type askKind struct{ told, task int }\n\nfunc f(asked int) (noted int) {\n\tvar x, note int\n\tfor tell := range x {\n\t}\n\ta, settled := told, asked\n}\n",
			[]string{"name 4", "name 4", "name 6", "name 6", "name 7", "name 8", "name 10"}},
		{"a drawing", "// Package a\n//\n//\tasks\npackage a\n", nil},
		{"names of interfaces", head + "type i interface {\n\tAsk()\n\taskAll()\n\tOwn\n\tOf()\n}\n", []string{"name 6", "bare 8"}},
		{"a use is not counted", head + "func f() { x = told; told(asked) }\n", nil},
		{"bare names", head + "func of() {}\nfunc (t) Until() {}\nfunc Now() {}\nfunc now() {}\nfunc ofX() {}\nvar own int\n", []string{"bare 4", "bare 5", "bare 7"}},
		{"idle step", head + "func f() {\n\t// 2. Fetch the labels.\n\tvar err error\n\tx, err = fetchLabels(y)\n}\n", []string{"step 5"}},
		{"idle step above a loop", head + "func f() {\n\t// 1. Read the rows.\n\tfor r := range rows {\n\t\ta()\n\t}\n}\n", []string{"step 5"}},
		{"a reason", head + "func f() {\n\t// 2. Fetch the labels, because readers need them.\n\tx := fetchLabels(y)\n}\n", nil},
		{"the word is in the block only", head + "func f() {\n\t// 1. Labels.\n\tfor range x {\n\t\tlabels()\n\t}\n}\n", nil},
		{"no step", head + "func f() {\n\t// Fetch the labels.\n\tx := fetchLabels(y)\n}\n", nil},
	} {
		tree := parse(t, "a/a.go", c.source)
		var got []string
		for _, k := range tree.overKeys() {
			for _, p := range tree.over[k] {
				got = append(got, fmt.Sprint(k.rule, " ", p.line))
			}
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCeilings(t *testing.T) {
	tree := parse(t, "a/a.go", "// Package a asks\n// and tells.\npackage a\n\nfunc of() {}\n")
	for _, c := range []struct {
		file string
		want int // problems
	}{
		{"word a 2\nbare a 1\n", 0},
		{"word a 1\nbare a 1\n", 3}, // a line about the folder, and the two places
		{"word a 2\n", 2},
		{"word a 3\nbare a 1\n", 0},
		{"word b 2\nbare a 1\n", 0}, // the file was moved from b
		{"word b 1\nbare a 1\n", 3},
	} {
		ceilings, err := readCeilings(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.above(ceilings); len(got) != c.want {
			t.Errorf("ceilings %q: got %v, want %d problems", c.file, got, c.want)
		}
	}
	if got, want := tree.ceilings(), "bare a 1\nword a 2\n"; got != want {
		t.Errorf("today's ceilings are %q, want %q", got, want)
	}
	for _, bad := range []string{"word a", "word a 0", "word a x", "\n"} {
		if _, err := readCeilings(bad); err == nil {
			t.Errorf("no error for the ceilings %q", bad)
		}
	}
}

// TestRates checks that a small folder is free, and that a large one is not.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		words, conditional, relative, want int
	}{
		{rateWords - 1, 0, rateWords - 1, 0},
		{1000, 10 * minConditional, 10 * maxRelative, 0},
		{1000, 10*minConditional - 1, 10*maxRelative + 1, 2},
	} {
		tree := newTree()
		tree.folders["a"] = counts{words: c.words, conditional: c.conditional, relative: c.relative}
		if got := tree.rates(); len(got) != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestSums(t *testing.T) {
	tree := parse(t, "internal/a/b/a.go", `// Package a waits when it must, because that is what it does.
//
//	if code if
package a

// I has many methods, if you count them.
type I interface{ A(); B(); C(); J }

type J interface{ D(); E(); F() }

type s[T any] struct{}

func (s[T]) a() {}
func (*s[T]) b() {}
`)
	c := tree.counts["internal/a"]
	if c.files != 1 || c.words != 20 || c.conditional != 4 || c.relative != 2 {
		t.Errorf("counted %+v", c)
	}
	if want := []string{"internal/a/b.I, 6 methods"}; !slices.Equal(tree.interfaces, want) {
		t.Errorf("interfaces %q, want %q", tree.interfaces, want)
	}
	if n := tree.methods["internal/a/b.s"]; n != 2 {
		t.Errorf("%d methods, want 2", n)
	}
}

func TestLarge(t *testing.T) {
	for _, c := range []struct {
		folder        string
		methods, want int
	}{{"sparql/plan", 25, 0}, {"sparql/plan", 26, 1}, {"sparql/plan/a", 26, 1}, {"sparql/planner", 26, 0}} {
		source := "package a\n"
		for i := range c.methods {
			source += fmt.Sprintf("func (s *s) f%d() {}\n", i)
		}
		if got := parse(t, c.folder+"/a.go", source).large(); len(got) != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func parse(t *testing.T, path, source string) *tree {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	tree := newTree()
	tree.read(fset, f, path)
	return tree
}
