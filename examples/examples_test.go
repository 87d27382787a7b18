// Runs each example and compares its output.

package examples

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/node"
)

// deadline bounds how long nodes take to serve.
const deadline = time.Minute

// Each program must print what its row expects.
func TestExamples(t *testing.T) {
	seed.Slow(t)
	for _, test := range []struct{ name, want string }{
		{"embed", "<http://example.org/anna> <http://example.org/knows> <http://example.org/ben> .\n" +
			"<http://example.org/anna> <http://example.org/knows> <http://example.org/carl> .\n3 in all\n"},
		{"query", "Carl 35\nAnna 42\ndeleted 2\n"},
		{"links", "to https://c.example/ link [https://a.example/ https://b.example/]\n1. 0.67\n2. 0.33\n3. 0.00\n"},
		{"cluster", "name Anna\nmembers 2\nstored on 2\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var args []string
			if test.name == "cluster" {
				first := serve(t)
				// Nothing listens at the first address.
				args = []string{"http://127.0.0.1:1", "http://" + first, "http://" + serve(t, first)}
			}
			if got := output(t, test.name, args...); got != test.want {
				t.Errorf("it prints\n%s, want\n%s", got, test.want)
			}
		})
	}
}

// output builds an example and returns its output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if text, err := exec.Command("go", "build", "-o", program, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}

// serve runs a node until the test ends and returns its address. It joins the cluster
// of a member if there is one.
func serve(t *testing.T, join ...string) (address string) {
	t.Helper()
	dir := t.TempDir() // first: what is registered last ends first
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	options := node.ServeOptions{Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url }}
	options.Cluster.Join = join
	go func() { ended <- node.Serve(ctx, dir, options) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	select {
	case url := <-ready:
		return url[len("http://"):]
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	case <-time.After(deadline):
		t.Fatal("the node does not serve")
	}
	return ""
}
