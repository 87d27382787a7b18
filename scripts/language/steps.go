// Step comments that repeat the code below them.

package main

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

// stepLines is how far below a comment the statements that it is compared with begin.
const stepLines = 2

var (
	stepNumber = regexp.MustCompile(`^\d+[a-z]?\. `)
	// fillers are the words of a comment that add no reason.
	fillers = wordSet(`a an the of to and or its it their this that these those all each every in on from
		for with by as at into one both any then now first next last up out is are
		check find get make read write take add set show count build compute collect gather choose fill
		return send wait store put print apply encode decode parse open close look run start end`)
)

// steps finds numbered comments in functions whose words are all among the names of the
// statements below them: "2. Fetch the labels." above fetchLabels.
func (t *tree) steps(fset *token.FileSet, f *ast.File, path string) {
	line := func(p token.Pos) int { return fset.Position(p).Line }
	// 1. A comment belongs to the statements that begin right below its last line.
	comments := map[int]*ast.CommentGroup{}
	for _, g := range f.Comments {
		if stepNumber.MatchString(g.Text()) {
			comments[line(g.End())] = g
		}
	}
	// 2. Gather the names in these statements. Of a block only the head counts, because the rest
	// has comments of its own.
	names := map[*ast.CommentGroup]map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		begin, list := statements(n)
		for _, s := range list {
			for d := 1; d <= stepLines; d++ {
				g := comments[line(s.Pos())-d]
				if g == nil || g.Pos() < begin {
					continue
				}
				if names[g] == nil {
					names[g] = map[string]bool{}
				}
				gatherNames(s, names[g])
			}
		}
		return true
	})
	// 3. A sentence is idle if each of its words is in a name.
	for g, known := range names {
		if idle(g.Text(), known) {
			t.exceed("step", filepath.Dir(path), path, line(g.Pos()), "the step repeats the code below it: "+strings.TrimSpace(g.Text()))
		}
	}
}

// statements returns the list of statements of a block or a case, and the place before it.
func statements(n ast.Node) (begin token.Pos, list []ast.Stmt) {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.Lbrace, n.List
	case *ast.CaseClause:
		return n.Colon, n.Body
	case *ast.CommClause:
		return n.Colon, n.Body
	}
	return token.NoPos, nil
}

// gatherNames adds the stems of the words of all names in the head of a statement.
func gatherNames(s ast.Stmt, to map[string]bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.Ident:
			for _, w := range nameWord.FindAllString(n.Name, -1) {
				to[stem(w)] = true
			}
		case *ast.ReturnStmt:
			to["return"] = true
		case *ast.GoStmt:
			to["start"] = true
		}
		return true
	})
}

// idle reports whether a comment is one sentence whose words are known or fillers.
func idle(text string, known map[string]bool) bool {
	text = strings.TrimSpace(stepNumber.ReplaceAllString(text, ""))
	if strings.Contains(strings.TrimSuffix(text, "."), ". ") {
		return false
	}
	for _, w := range word.FindAllString(text, -1) {
		if w = strings.ToLower(w); !fillers[w] && !known[stem(w)] {
			return false
		}
	}
	return true
}

// stem returns a word without its ending. It is crude: both sides lose the same.
func stem(w string) string {
	w = strings.ToLower(w)
	for _, ending := range []string{"ies", "ing", "ed", "es", "s", "e", "y"} {
		if rest, ok := strings.CutSuffix(w, ending); ok && len(rest) >= 3 {
			return rest
		}
	}
	return w
}
