// The clock on the systems that this machine does not run.

package bootclock

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// TestSystems type-checks the package for other systems. A compiler would need some ten seconds
// for each, because it compiles the standard library first.
func TestSystems(t *testing.T) {
	defer func(c build.Context) { build.Default = c }(build.Default) // the importer reads it
	build.Default.CgoEnabled = false
	for _, system := range []string{"darwin", "windows", "freebsd", "openbsd"} {
		build.Default.GOOS = system
		pkg, err := build.ImportDir(".", 0)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		var files []*ast.File
		for _, name := range pkg.GoFiles {
			f, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		conf := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
		if _, err := conf.Check(pkg.ImportPath, set, files, nil); err != nil || len(files) < 2 {
			t.Errorf("%s: %d files, %v", system, len(files), err)
		}
	}
}
