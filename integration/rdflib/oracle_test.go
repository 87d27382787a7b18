// rdflib as a process, and its protocol.

package rdflib

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// python is Debian's, for which its packages are; another one may come before it
// in PATH.
const python = "/usr/bin/python3"

// oracle is a process of oracle.py.
type oracle struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// job is a line to the process; see oracle.py.
type job struct {
	Data    [][][][]string `json:"data"`
	Queries []string       `json:"queries,omitempty"`
	Update  string         `json:"update,omitempty"`
}

// reply is what the process says to one query.
type reply struct {
	Rows    []map[string][]string `json:"rows"`
	Boolean *bool                 `json:"boolean"`
	Graph   [][][]string          `json:"graph"`
	Error   string                `json:"error"`
}

// needOracle skips the test where rdflib is not installed. It fails instead where
// TREFOIL_CLIENTS is "require", as scripts/clients.sh has it once it installed it.
func needOracle(t *testing.T) {
	t.Helper()
	err := exec.Command(python, "-c", "import rdflib.plugins.sparql").Run()
	if err == nil {
		return
	}
	const how = "rdflib is not there for %s (%v): scripts/clients.sh installs it on Debian"
	if os.Getenv("TREFOIL_CLIENTS") == "require" {
		t.Fatalf(how, python, err)
	}
	t.Skipf(how, python, err)
}

// startOracle starts a process that ends with the test.
func startOracle(t *testing.T, args ...string) *oracle {
	t.Helper()
	needOracle(t)
	o := &oracle{cmd: exec.Command(python, append([]string{"oracle.py"}, args...)...)}
	o.cmd.Stderr = os.Stderr
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := o.cmd.StdoutPipe()
	require.NoError(t, err)
	o.out = bufio.NewReaderSize(out, 1<<20)
	require.NoError(t, o.cmd.Start())
	t.Cleanup(func() {
		_ = o.in.Close()
		if err := o.cmd.Wait(); err != nil {
			t.Errorf("oracle.py: %v", err)
		}
	})
	return o
}

// ask sends a job and returns, for each dataset, the reply to each query or to the
// update.
func (o *oracle) ask(j job) ([][]reply, error) {
	line, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("asking oracle.py: %w", err)
	}
	line, err = o.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("reading from oracle.py: %w", err)
	}
	var answer struct {
		Results [][]reply `json:"results"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) != len(j.Data) || len(answer.Results[0]) != max(1, len(j.Queries)) {
		return nil, errors.New("oracle.py answers another number of queries")
	}
	return answer.Results, nil
}

// encode writes triples as oracle.py reads them.
func encode(triples []triple.Triple) [][][]string {
	out := [][][]string{}
	for _, tr := range triples {
		quad := [][]string{encodeTerm(tr.Subject), encodeTerm(tr.Predicate), encodeTerm(tr.Object)}
		if !tr.Graph.IsZero() {
			quad = append(quad, encodeTerm(tr.Graph))
		}
		out = append(out, quad)
	}
	return out
}

func encodeTerm(t triple.Term) []string {
	switch t.Kind() {
	case triple.IRI:
		return []string{"i", t.Value()}
	case triple.Blank:
		return []string{"b", t.Value()}
	}
	return []string{"l", t.Value(), t.Datatype(), t.Lang()}
}

// decode reads a graph of oracle.py.
func decode(quads [][][]string) []triple.Triple {
	var out []triple.Triple
	for _, quad := range quads {
		tr := triple.Triple{Subject: decodeTerm(quad[0]), Predicate: decodeTerm(quad[1]), Object: decodeTerm(quad[2])}
		if len(quad) > 3 {
			tr.Graph = decodeTerm(quad[3])
		}
		out = append(out, tr)
	}
	return out
}

func decodeTerm(t []string) triple.Term {
	switch {
	case t[0] == "i":
		return triple.NewIRI(t[1])
	case t[0] == "b":
		return triple.NewBlank(t[1])
	case t[3] != "":
		return triple.NewLang(t[1], t[3])
	}
	return triple.NewTyped(t[1], t[2])
}
