// Fuseki and Virtuoso as processes.

package clients

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// installed returns the folder of a store that scripts/peers.sh has installed, and its version.
func installed(t *testing.T, name string) (dir, version string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".peers", name))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "installed"))
	if err != nil {
		absent(t, "no .peers/"+name)
	}
	fields := strings.Fields(string(text))
	return dir, fields[len(fields)-1]
}

// freePort returns a port for a server.
func freePort(t *testing.T) int {
	t.Helper()
	port, err := rig.FreePort()
	require.NoError(t, err)
	return port
}

// launch runs a server until the test ends, and returns when its address answers.
func launch(t *testing.T, cmd *exec.Cmd, address string) {
	t.Helper()
	p, err := rig.Start(cmd, nil)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err = rig.WaitFor(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		select {
		case <-p.Ended():
			cancel()
			return p.Failure("ended before it served")
		default:
		}
		req, err := http.NewRequestWithContext(ctx, "GET", address+"?query=ASK%7B%7D", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return err
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("status %s", res.Status)
		}
		return nil
	})
	require.NoError(t, err)
}

func openFuseki(t *testing.T) peer {
	dir, version := installed(t, "fuseki")
	port := freePort(t)
	cmd := exec.Command("java", "-Xmx512m", "-jar", filepath.Join(dir, "jena-fuseki-server.jar"),
		"--quiet", "--localhost", "--port", fmt.Sprint(port), "--mem", "--update", "/ds")
	cmd.Dir = t.TempDir() // it makes a directory "run" where it is started
	base := fmt.Sprintf("http://127.0.0.1:%d/ds/", port)
	launch(t, cmd, base+"sparql")
	return &httpStore{queries: base + "sparql", updates: base + "update", graphs: base + "data", reset: []string{"DROP ALL"}, version: version}
}

// virtuosoSettings has the ports of SQL and HTTP.
const virtuosoSettings = `[Database]
DatabaseFile = virtuoso.db
ErrorLogFile = virtuoso.log
LockFile = virtuoso.lck
TransactionFile = virtuoso.trx
xa_persistent_file = virtuoso.pxa
TempStorage = TempDatabase
[TempDatabase]
DatabaseFile = temporary.db
TransactionFile = temporary.trx
[Parameters]
ServerPort = 127.0.0.1:%d
NumberOfBuffers = 10000
CheckpointInterval = 0
[HTTPServer]
ServerPort = 127.0.0.1:%d
ServerThreads = 4
MaxClientConnections = 4
`

func openVirtuoso(t *testing.T) peer {
	// 1. The server.
	root, version := installed(t, "virtuoso")
	sql, port := freePort(t), freePort(t)
	dir := t.TempDir()
	settings := fmt.Sprintf(virtuosoSettings, sql, port)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "virtuoso.ini"), []byte(settings), 0o600))
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(root, "usr", "bin", program), args...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(root, "libraries"))
		cmd.Dir = dir
		return cmd
	}
	base := fmt.Sprintf("http://127.0.0.1:%d/", port)
	launch(t, command("virtuoso-t", "-f", "-c", "virtuoso.ini"), base+"sparql")
	// 2. Updates over HTTP need a right.
	grant := command("isql-vt", fmt.Sprintf("127.0.0.1:%d", sql), "dba", "dba", `exec=GRANT SPARQL_UPDATE TO "SPARQL";`)
	if out, err := grant.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const graph = "http://data/"
	return &httpStore{queries: base + "sparql", updates: base + "sparql", graphs: base + "sparql-graph-crud", graph: graph, version: version,
		reset: []string{"CLEAR GRAPH <" + graph + ">", "CLEAR GRAPH <http://e/g>", "CLEAR GRAPH <http://e/h>"}}
}
