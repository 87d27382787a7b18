// The levels of lines of the log, over all packages.

package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestInfoHasNoError checks that no line at level info has an error: it is a warning, or at level debug if the program goes on
// as it should.
func TestInfoHasNoError(t *testing.T) {
	calls := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isInfo(call) {
				return true
			}
			calls++
			for _, a := range call.Args {
				if text, ok := a.(*ast.BasicLit); ok && (text.Value == `"error"` || text.Value == `"err"`) {
					t.Errorf("%s: a line at level info with an error", files.Position(call.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || calls == 0 {
		t.Errorf("%d lines, %v", calls, err)
	}
}

// isInfo reports whether a call writes a line at level info.
func isInfo(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch f.Sel.Name {
	case "Info", "InfoContext":
		return true
	case "Log":
		for _, a := range call.Args {
			if level, ok := a.(*ast.SelectorExpr); ok && level.Sel.Name == "LevelInfo" {
				return true
			}
		}
	}
	return false
}
