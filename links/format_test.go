// The triples of UIDs and hosts as docs/FORMAT.md has them.

package links_test

import (
	"os"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// TestSystemGraphFormat: the document has the triples and the names that the code has.
func TestSystemGraphFormat(t *testing.T) {
	text, err := os.ReadFile("../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## The system graph\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, block, _ := strings.Cut(section, "```nquads\n")
	block, _, _ = strings.Cut(block, "```")
	page := uid.UID(1<<34 + 1)
	var want []byte
	for _, one := range []triple.Triple{links.UIDTriple("http://www.example.org/", page), links.HostTriple(page.Extent(), "org.example.www"), systemgraph.PrefixRow} {
		want = triple.AppendNQuad(want, one)
	}
	if block != string(want) {
		t.Errorf("the document has\n%s\nand the code\n%s", block, want)
	}
	for _, name := range []string{systemgraph.IRI, systemgraph.Links, systemgraph.Prefixes} {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("the section does not name %s", name)
		}
	}
}
