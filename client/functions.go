// Update functions: WebAssembly modules that a node runs when triples change.

package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/triple"
)

// Functions registers update functions.
type Functions struct{ *transport }

// FunctionOptions attach a module to changes.
type FunctionOptions struct {
	// Pattern selects the changed triples; the zero Pattern is all.
	Pattern triple.Pattern
	// Kinds are names of add, delete and annotate; nil is add.
	Kinds []string
	// Arguments are patterns of other triples that the function gets. ?s, ?p, ?o and ?g are the terms
	// of the changed triple.
	Arguments []string
	// Check runs the function before the commit. It may reject the change, and has no effects.
	Check bool
	// Retries is the number of further tries of a call that failed; 0 is 3, and a negative number
	// is none. Stop makes the function stop after the last one; otherwise it skips the change.
	Retries int
	Stop    bool
	// Loads runs the function for each triple of bulk loads, too.
	Loads bool
	// Timeout and MemoryBytes bound one call; 0 is 100 ms, and 16 MiB.
	Timeout     time.Duration
	MemoryBytes int64
}

// Function is a registered function.
type Function struct {
	Name        string         `json:"name"`
	Mode        string         `json:"mode"`    // "after" or "check"
	Pattern     string         `json:"pattern"` // "" is every triple
	Kinds       []string       `json:"kinds"`
	Arguments   []string       `json:"arguments"`
	Retries     int            `json:"retries"`
	Then        string         `json:"then"` // "skip" or "stop"
	Loads       bool           `json:"loads"`
	TimeoutMS   int64          `json:"timeoutMs"`
	MemoryBytes int64          `json:"memoryBytes"`
	ModuleBytes int            `json:"moduleBytes"`
	Registered  time.Time      `json:"registered"`
	State       *FunctionState `json:"state"`   // nil if it has none yet
	Running     bool           `json:"running"` // on the node that answers
	Problem     string         `json:"problem"` // why it cannot run; "" if it can
}

// FunctionState is what a function has done. The counts of a check are those of the node that
// answers.
type FunctionState struct {
	Position  string           `json:"position"` // in the change feed
	Stopped   bool             `json:"stopped"`
	Counts    FunctionCounts   `json:"counts"`
	LastError *FunctionFailure `json:"lastError"`
}

// FunctionCounts and FunctionFailure are parts of a [FunctionState].
type (
	FunctionCounts  = api.FunctionCounts
	FunctionFailure = api.FunctionFailure
)

const wasmType = "application/wasm"

func functionPath(name string) string { return "/functions/" + name }

// Put registers a module. A new function begins with the changes after the call. One that
// exists keeps its place; if it is stopped, it continues.
func (c *Functions) Put(ctx context.Context, name string, module []byte, o FunctionOptions) (f Function, err error) {
	// 1. Translate the options.
	query := patternQuery(o.Pattern)
	set := func(name, value string, is bool) {
		if is {
			query.Set(name, value)
		}
	}
	set("kinds", strings.Join(o.Kinds, ","), len(o.Kinds) > 0)
	set("arguments", strings.Join(o.Arguments, "\n"), len(o.Arguments) > 0)
	set("mode", "check", o.Check)
	set("retries", strconv.Itoa(max(o.Retries, 0)), o.Retries != 0)
	set("then", "stop", o.Stop)
	set("loads", "true", o.Loads)
	set("timeout", strconv.FormatInt(max(1, o.Timeout.Milliseconds()), 10), o.Timeout > 0)
	set("memory", strconv.FormatInt(o.MemoryBytes, 10), o.MemoryBytes > 0)
	// 2. Send the module.
	text, err := c.change(ctx, call{method: http.MethodPut, target: c.endpoint(functionPath(name), query),
		header: http.Header{"Content-Type": {wasmType}}, body: module}, true)
	if err == nil {
		err = decodeJSON(text, &f)
	}
	if err != nil {
		return f, fmt.Errorf("register the function %s: %w", name, unwrapPermanent(err))
	}
	return f, nil
}

// List returns all functions, by name.
func (c *Functions) List(ctx context.Context) ([]Function, error) {
	var answer struct{ Functions []Function }
	if err := c.get(ctx, c.endpoint("/functions", nil), &answer); err != nil {
		return nil, fmt.Errorf("list the functions: %w", unwrapPermanent(err))
	}
	return answer.Functions, nil
}

// Get returns one function.
func (c *Functions) Get(ctx context.Context, name string) (f Function, err error) {
	if err := c.get(ctx, c.endpoint(functionPath(name), nil), &f); err != nil {
		return f, fmt.Errorf("function %s: %w", name, unwrapPermanent(err))
	}
	return f, nil
}

// Module returns the module of a function.
func (c *Functions) Module(ctx context.Context, name string) ([]byte, error) {
	module, _, err := c.send(ctx, call{method: http.MethodGet, target: c.endpoint(functionPath(name), url.Values{}),
		header: http.Header{"Accept": {wasmType}}}, maxJSONBytes)
	if err != nil {
		return nil, fmt.Errorf("module of the function %s: %w", name, unwrapPermanent(err))
	}
	return module, nil
}

// Delete deletes a function.
func (c *Functions) Delete(ctx context.Context, name string) error {
	_, err := c.change(ctx, call{method: http.MethodDelete, target: c.endpoint(functionPath(name), nil)}, true)
	if err != nil {
		return fmt.Errorf("delete the function %s: %w", name, unwrapPermanent(err))
	}
	return nil
}
