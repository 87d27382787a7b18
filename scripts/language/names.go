// The words that have a better one, in comments and in names, and names that say nothing.

package main

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// replaced has the words with a better one. docs/GLOSSARY.md lists the standard words.
var replaced = map[string]string{
	"ask": "request, send or query", "asks": "requests, sends or queries", "asked": "requested, sent or queried",
	"asking": "requesting", "asker": "client or requester", "askers": "clients or requesters",
	"tell": "report or send", "tells": "reports or sends", "told": "reported or sent", "telling": "reporting",
	"note": "annotation or record", "notes": "annotations or records", "noted": "annotated or recorded", "noting": "recording",
	"settle": "commit or finish", "settles": "commits or finishes", "settled": "committed or final", "settling": "committing",
	"settlement": "commit report", "unsettled": "in flight", "worn": "outdated",
}

// bareNames are adverbs, pronouns, prepositions and verbs. Alone they are the name of no
// function: a name has the object, too.
var bareNames = wordSet(`
	after again alike alone among apart around as at away back because before behind below beside
	between both by down during earlier early eventually everything exactly few for from further
	here in inside into kept heard late later least many more most near needless none now of
	off on once one only other out outside over own partly past same self since some sooner still
	that there through to together two under until up upon whole with within without
	owes growing meant met begets bears lacks lacking hears knows`)

// wellKnown are names that the standard library has made words: time.Now, errors.As,
// slog.Logger.With, time.Time.After, types.Tuple.At.
var wellKnown = wordSet("Now As With After Before At")

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// If a word is quoted or a link, it is a name of something, so it may stay.
var (
	quoted   = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|\\[[^\\]\\s]*\\]")
	nameWord = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)
)

// words finds the replaced words of comments. A word in capital letters, such as ASK, is one of
// a language.
func (t *tree) words(fset *token.FileSet, f *ast.File, path string) {
	folder := filepath.Dir(path)
	for _, g := range f.Comments {
		for _, c := range g.List {
			for n, text := range strings.Split(c.Text, "\n") {
				if strings.HasPrefix(text, "//\t") || strings.HasPrefix(text, "//    ") {
					continue // a drawing or code, which may have names of files and messages
				}
				for _, w := range word.FindAllString(quoted.ReplaceAllString(text, ""), -1) {
					better := replaced[strings.ToLower(w)]
					if better == "" || w == strings.ToUpper(w) {
						continue
					}
					line := fset.Position(c.Pos()).Line + n
					t.exceed("word", folder, path, line, strconv.Quote(w)+" in a comment: write "+better)
				}
			}
		}
	}
}

// names finds declared names with a replaced word, and functions with a bare name.
func (t *tree) names(fset *token.FileSet, f *ast.File, path string) {
	folder := filepath.Dir(path)
	// 1. Uses of a name are not counted, because they follow its declaration.
	declared := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if i, ok := e.(*ast.Ident); ok {
				t.name(folder, path, fset.Position(i.Pos()).Line, i.Name)
			}
		}
	}
	function := func(i *ast.Ident) {
		declared(i)
		if bareNames[strings.ToLower(i.Name)] && !wellKnown[i.Name] {
			t.exceed("bare", folder, path, fset.Position(i.Pos()).Line, "a function is named "+i.Name+" alone")
		}
	}
	// 2. Visit whatever declares a name. A type in an interface is embedded, so it declares none.
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			function(n.Name)
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				if _, ok := m.Type.(*ast.FuncType); ok {
					for _, i := range m.Names {
						function(i)
					}
				}
			}
			return false
		case *ast.TypeSpec:
			declared(n.Name)
		case *ast.ValueSpec:
			for _, i := range n.Names {
				declared(i)
			}
		case *ast.Field:
			for _, i := range n.Names {
				declared(i)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				declared(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				declared(n.Key, n.Value)
			}
		}
		return true
	})
}

// name finds a replaced word in a declared name. Ask is a form of SPARQL queries.
func (t *tree) name(folder, path string, line int, name string) {
	for _, part := range nameWord.FindAllString(name, -1) {
		better := replaced[strings.ToLower(part)]
		if better != "" && part != strings.ToUpper(part) && name != "Ask" {
			t.exceed("name", folder, path, line, name+": instead of "+strconv.Quote(part)+" write "+better)
		}
	}
}
