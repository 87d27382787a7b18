// The rules, on the module itself and on small examples.

package main

import (
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
	// The targets of CONTRIBUTING.md, for all product code together.
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
