// SPARQLWrapper and SPARQLStore of rdflib as clients.

package clients

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/internal/server"
)

// python is Debian's, which has the packages that Debian has.
const python = "/usr/bin/python3"

func TestSPARQLWrapperAndSPARQLStore(t *testing.T) {
	if err := exec.Command(python, "-c", "import rdflib, SPARQLWrapper").Run(); err != nil {
		absent(t, "no python3-rdflib or no python3-sparqlwrapper")
	}
	address, _ := serve(t, server.Options{}, nil)
	converse(t, python, filepath.Join("testdata", "sparqlwrapper.py"), address)
}
