// Comunica as a client.

package clients

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/internal/server"
)

func TestComunica(t *testing.T) {
	node := program(t, "node", "nodejs")
	if _, err := os.Stat(filepath.Join("testdata", "node_modules", "@comunica", "query-sparql")); err != nil {
		absent(t, "no Comunica")
	}
	address, _ := serve(t, server.Options{}, nil)
	converse(t, node, filepath.Join("testdata", "comunica.mjs"), address)
}
