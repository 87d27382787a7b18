// Update functions of a served node.

package node_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// TestServeFunctions runs a function and a check through a served node.
func TestServeFunctions(t *testing.T) {
	// 1. Serve, and register both.
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- node.Serve(ctx, t.TempDir(), node.ServeOptions{Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url }})
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	c, err := client.New(<-ready, client.Options{})
	require.NoError(t, err)
	defer c.Close()
	parentOf, age := triple.NewIRI("http://example.org/parentOf"), triple.NewIRI("http://example.org/age")
	for name, o := range map[string]client.FunctionOptions{
		"inverse": {Pattern: triple.Pattern{Predicate: parentOf}, Timeout: 10 * time.Second},
		"schema":  {Pattern: triple.Pattern{Predicate: age}, Check: true, Timeout: 10 * time.Second},
	} {
		module, err := os.ReadFile("../internal/functions/sandbox/testdata/" + name + ".wasm")
		require.NoError(t, err)
		if _, err := c.Functions.Put(ctx, name, module, o); err != nil {
			t.Fatal(err)
		}
	}
	// 2. The function has its effect, and the check rejects.
	anna, ben := triple.NewIRI("http://example.org/anna"), triple.NewIRI("http://example.org/ben")
	if _, err := c.Add(ctx, []triple.Triple{{Subject: anna, Predicate: parentOf, Object: ben}}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for n := int64(0); n == 0; {
		if n, err = c.Count(ctx, triple.Pattern{Subject: ben, Predicate: triple.NewIRI("http://example.org/childOf"), Object: anna}); err != nil || time.Now().After(deadline) {
			t.Fatalf("no effect: %v", err)
		}
		time.Sleep(time.Millisecond)
	}
	_, err = c.Add(ctx, []triple.Triple{{Subject: anna, Predicate: age, Object: triple.NewString("old")}})
	if err == nil || !strings.Contains(err.Error(), "the check schema has rejected") {
		t.Errorf("the check: %v", err)
	}
	f, err := c.Functions.Get(ctx, "inverse")
	if err != nil || !f.Running || f.State == nil || f.Problem != "" {
		t.Errorf("%+v, %v", f, err)
	}
}
