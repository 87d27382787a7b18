// The console in a browser.

package clients

// This file tests the console in headless Chromium, on nodes with data. console/test has the
// steps: Playwright drives the browser, and axe looks for what some people could not use.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/triple"
)

const people = 5000

// hostile is a literal that would run where a page takes data for HTML.
const hostile = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`

func data() []triple.Triple {
	iri := func(name string) triple.Term { return triple.NewIRI("http://example.org/" + name) }
	a := triple.NewIRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
	var all []triple.Triple
	for i := range people {
		s := iri(fmt.Sprintf("person%04d", i))
		all = append(all,
			triple.Triple{Subject: s, Predicate: a, Object: iri("Person")},
			triple.Triple{Subject: s, Predicate: iri("age"), Object: triple.NewTyped(fmt.Sprint(20+i%60), triple.XSDInteger)})
	}
	return append(all, triple.Triple{Subject: iri("trap"), Predicate: iri("label"), Object: triple.NewString(hostile)},
		triple.Triple{Subject: iri("trap"), Predicate: a, Object: iri("Trap")})
}

// nodeWithPackages returns the path of Node.js, which the packages of the console are there for.
func nodeWithPackages(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("../../console/node_modules/playwright-core"); err != nil {
		absent(t, "no console/node_modules")
	}
	return program(t, "node")
}

// TestConsoleBuild: the built files of the repository are those of the source.
func TestConsoleBuild(t *testing.T) {
	out, err := exec.Command(nodeWithPackages(t), "../../console/build.mjs", "--check").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestConsoleLock: the versions are those of the public registry, by name and hash; no host is named.
func TestConsoleLock(t *testing.T) {
	lock, err := os.ReadFile("../../console/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(lock, []byte(`"resolved"`)) || !bytes.Contains(lock, []byte(`"integrity"`)) {
		t.Error("console/package-lock.json names hosts, or lacks hashes; console/.npmrc leaves the hosts out")
	}
}

func TestConsole(t *testing.T) {
	node := nodeWithPackages(t)
	t.Setenv("CHROMIUM", program(t, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))
	open, _ := serve(t, server.Options{}, data())
	guarded, _ := serve(t, server.Options{Token: "sesame"}, data())
	converse(t, node, "../../console/test/main.mjs", open+"/", guarded+"/")
}
