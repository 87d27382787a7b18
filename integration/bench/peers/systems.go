// The systems that are measured: how each one loads a file and serves it.

package peers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// system is trefoil or one of its peers.
type system struct {
	name    string
	version string
	path    string // of the endpoint, maybe with parameters
	// load makes a store in dir, which is empty, of an N-Triples file.
	load func(ctx context.Context, dir, file string) error
	// serve returns the command of a server on the store in dir. Port is free.
	serve func(ctx context.Context, dir string, port int) *exec.Cmd
	// derived is a line of /metrics if structures that make queries fast are still missing after the
	// start, "" if there are none. The bench waits for them, and reports the time.
	derived string
}

// ours is the name of the system whose binary is under test.
const ours = "trefoil"

// startLimit bounds the time until a system answers its first query.
const startLimit = 2 * time.Minute

//go:embed oxigraph.py
var oxigraphServer string

// systems returns trefoil and the peers that scripts/peers.sh has installed in -peers.
func (b *bench) systems() (found []system) {
	found = append(found, system{name: ours, path: "/sparql",
		load: func(ctx context.Context, dir, file string) error {
			_, err := b.Load(ctx, file, "--data", dir)
			return err
		},
		serve: func(ctx context.Context, dir string, port int) *exec.Cmd {
			return b.Command(ctx, "serve", "--data", dir, "--listen", fmt.Sprintf("127.0.0.1:%d", port))
		},
		derived: "\ntrefoil_store_column_bytes 0\n",
	})
	for _, peer := range []system{b.virtuoso(), b.fuseki(), b.oxigraph()} {
		text, err := os.ReadFile(filepath.Join(b.peers, peer.name, "installed"))
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s is left out: %v\n", peer.name, err)
			continue
		}
		fields := strings.Fields(string(text))
		peer.version = fields[len(fields)-1]
		found = append(found, peer)
	}
	return found
}

func (b *bench) fuseki() system {
	jar := filepath.Join(b.peers, "fuseki", "jena-fuseki-server.jar")
	return system{name: "fuseki", path: "/ds/sparql",
		load: func(ctx context.Context, dir, file string) error {
			return run(exec.CommandContext(ctx, "java", "-Xmx4g", "-cp", jar, "tdb2.tdbloader", "--loc", dir, file))
		},
		serve: func(ctx context.Context, dir string, port int) *exec.Cmd {
			_ = os.Remove(filepath.Join(dir, "tdb.lock")) // of the last server, which was killed
			cmd := exec.CommandContext(ctx, "java", "-Xmx4g", "-jar", jar, "--quiet", "--localhost", "--port", fmt.Sprint(port), "--tdb2", "--loc", dir, "/ds")
			cmd.Dir = dir // it makes a directory "run" where it is started
			return cmd
		},
	}
}

func (b *bench) oxigraph() system {
	python := filepath.Join(b.peers, "oxigraph", "bin", "python")
	return system{name: "oxigraph", path: "/",
		load: func(ctx context.Context, dir, file string) error {
			return run(exec.CommandContext(ctx, python, "-c", oxigraphServer, dir, "load", file))
		},
		serve: func(ctx context.Context, dir string, port int) *exec.Cmd {
			return exec.CommandContext(ctx, python, "-c", oxigraphServer, dir, fmt.Sprint(port))
		},
	}
}

// virtuosoGraph is the graph of the data. Virtuoso has triples of its own in others, which queries
// read too if no graph is given.
const virtuosoGraph = "urn:data"

// virtuosoSettings has the ports of SQL and HTTP. A buffer has 8 KiB.
const virtuosoSettings = `[Database]
DatabaseFile = virtuoso.db
ErrorLogFile = virtuoso.log
LockFile = virtuoso.lck
TransactionFile = virtuoso.trx
xa_persistent_file = virtuoso.pxa
MaxCheckpointRemap = 2000
TempStorage = TempDatabase
[TempDatabase]
DatabaseFile = temporary.db
TransactionFile = temporary.trx
[Parameters]
ServerPort = 127.0.0.1:%d
DirsAllowed = /
NumberOfBuffers = 340000
MaxDirtyBuffers = 250000
CheckpointInterval = 0
[HTTPServer]
ServerPort = 127.0.0.1:%d
ServerThreads = 10
MaxClientConnections = 10
KeepAliveTimeout = 60
MaxKeepAlives = 10
[SPARQL]
ResultSetMaxRows = 10000000
`

func (b *bench) virtuoso() system {
	root := filepath.Join(b.peers, "virtuoso")
	command := func(ctx context.Context, program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(root, "usr", "bin", program), args...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(root, "libraries"))
		return cmd
	}
	serve := func(ctx context.Context, dir string, sql, port int) *exec.Cmd {
		_ = os.Remove(filepath.Join(dir, "virtuoso.lck")) // of the last server, which was killed
		settings := fmt.Sprintf(virtuosoSettings, sql, port)
		_ = os.WriteFile(filepath.Join(dir, "virtuoso.ini"), []byte(settings), 0o644) // the server fails without it
		cmd := command(ctx, "virtuoso-t", "-f", "-c", "virtuoso.ini")
		cmd.Dir = dir
		return cmd
	}
	peer := system{name: "virtuoso", path: "/sparql?default-graph-uri=" + virtuosoGraph,
		serve: func(ctx context.Context, dir string, port int) *exec.Cmd {
			sql, _ := rig.FreePort() // 0 makes the server fail
			return serve(ctx, dir, sql, port)
		},
	}
	peer.load = func(ctx context.Context, dir, file string) error {
		// 1. A server, because only servers load.
		sql, err := rig.FreePort()
		if err != nil {
			return err
		}
		s, err := b.start(ctx, system{path: peer.path, serve: func(ctx context.Context, dir string, port int) *exec.Cmd {
			return serve(ctx, dir, sql, port)
		}}, dir, 1)
		if err != nil {
			return err
		}
		defer s.Kill()
		// 2. The load, whose errors are rows of a table.
		out, err := rig.Output(command(ctx, "isql-vt", fmt.Sprintf("127.0.0.1:%d", sql), "dba", "dba", "VERBOSE=OFF", "BANNER=OFF", fmt.Sprintf(
			"exec=ld_dir('%s','%s','%s'); rdf_loader_run(); checkpoint; select 'failed', ll_error from DB.DBA.load_list where ll_error is not null or ll_state <> 2;",
			filepath.Dir(file), filepath.Base(file), virtuosoGraph)))
		if err == nil && strings.Contains(string(out), "failed") {
			err = errors.New(string(out))
		}
		return err
	}
	return peer
}

// run runs a command. An error has the end of its output.
func run(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Path, err, out[max(0, len(out)-2000):])
	}
	return nil
}

// server is a running system.
type server struct {
	*rig.Process
	*endpoint
}

// start serves the store in dir and waits until a query has an answer.
func (b *bench) start(ctx context.Context, s system, dir string, connections int) (*server, error) {
	// 1. Start the process.
	port, err := rig.FreePort()
	if err != nil {
		return nil, err
	}
	p, err := rig.Start(s.serve(ctx, dir, port), nil)
	if err != nil {
		return nil, err
	}
	e := newEndpoint(fmt.Sprintf("http://127.0.0.1:%d%s", port, s.path), connections)
	// 2. Wait for its answer, or for its end.
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err = rig.WaitFor(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		select {
		case <-p.Ended():
			cancel()
			return p.Failure("ended before it served")
		default:
		}
		_, err := e.send(ctx, newQuery("", "ASK {}"), io.Discard)
		return err
	})
	// 3. Wait for what it derives from its rows.
	if err == nil && s.derived != "" {
		begun := time.Now()
		err = rig.WaitFor(ctx, 50*time.Millisecond, func(ctx context.Context) error {
			return complete(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", port), s.derived)
		})
		fmt.Fprintf(os.Stderr, "%s was ready %.1f s after its first answer\n", s.name, time.Since(begun).Seconds())
	}
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return &server{p, e}, nil
}

// complete returns an error while the text at url contains line.
func complete(ctx context.Context, url, line string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && strings.Contains(string(text), line) {
		return fmt.Errorf("%s still has %q", url, line)
	}
	return err
}

// stored returns the directory of a system's store of a file. A peer's store is kept for the next
// run; trefoil loads once in each run, because the form of its files changes with its commits.
func (b *bench) stored(ctx context.Context, s system, file string) (dir string, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(b.Dir, s.name+"-"+strings.TrimSuffix(filepath.Base(file), ".nt"))
	stamp := fmt.Sprintf("%s %d %s\n", s.version, info.Size(), info.ModTime())
	text, err := os.ReadFile(dir + ".loaded")
	if err == nil && string(text) == stamp && (s.name != ours || b.loaded[dir]) {
		return dir, nil
	}
	if err := errors.Join(os.RemoveAll(dir+".loaded"), os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	begun := time.Now()
	if err := s.load(ctx, dir, file); err != nil {
		return "", fmt.Errorf("%s loads %s: %w", s.name, file, err)
	}
	fmt.Fprintf(os.Stderr, "%s has loaded %s in %.1f s\n", s.name, filepath.Base(file), time.Since(begun).Seconds())
	b.loaded[dir] = true
	return dir, os.WriteFile(dir+".loaded", []byte(stamp), 0o644)
}
