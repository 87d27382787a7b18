// trefoil functions: the update functions of a server.

package admin

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
)

// FunctionsCmd shows and changes update functions.
type FunctionsCmd struct {
	List   functionsListCmd   `cmd:"" help:"List the functions with their counts."`
	Put    functionsPutCmd    `cmd:"" help:"Register a module, or register it anew."`
	Get    functionsGetCmd    `cmd:"" help:"Show one function as JSON, or write its module."`
	Delete functionsDeleteCmd `cmd:"" help:"Delete a function."`
}

type functionsListCmd struct {
	target.ServerFlags
	JSON bool `help:"Print JSON."`
}

func (c *functionsListCmd) Run(e *console.Env) error {
	return c.Request(e, func(to *client.Client) error {
		list, err := to.Functions.List(e.Ctx)
		return console.Print(e, c.JSON, list, err, printFunctions)
	})
}

func printFunctions(out io.Writer, list []client.Function) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tMODE\tKINDS\tPATTERN\tCALLS\tFAILURES\tSTATE")
	for _, f := range list {
		calls, failures, state := int64(0), int64(0), "ready"
		if s := f.State; s != nil {
			calls, failures = s.Counts.Calls, s.Counts.Failures
			if s.Stopped {
				state = "stopped"
			}
		}
		if f.Problem != "" {
			state = f.Problem
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\n", f.Name, f.Mode, strings.Join(f.Kinds, ","), f.Pattern, calls, failures, state)
	}
	return w.Flush()
}

type functionsPutCmd struct {
	target.ServerFlags
	Name     string           `arg:"" help:"The name: letters, digits, '-', '.' and '_'."`
	Module   string           `arg:"" help:"The module, a file of WebAssembly; - is standard input."`
	Pattern  string           `placeholder:"PATTERN" help:"The changed triples: '? <http://example.org/likes> ?'. All by default."`
	Kinds    []string         `placeholder:"KINDS" help:"add, delete, annotate; add by default."`
	Argument []string         `sep:"none" placeholder:"PATTERN" help:"Other triples that the function gets; ?s, ?p, ?o and ?g are the changed triple's terms. May be repeated."`
	Check    bool             `help:"Run before the commit, to reject changes. The function then has no effects."`
	Retries  int              `default:"3" help:"Further tries of a call that failed."`
	Stop     bool             `help:"Stop after the last try, instead of skipping the change."`
	Loads    bool             `help:"Run for each triple of bulk loads, too."`
	Timeout  time.Duration    `placeholder:"TIME" help:"Limit of one call: 100ms by default."`
	Memory   console.ByteSize `placeholder:"SIZE" help:"Limit of one call: 16MiB by default."`
}

func (c *functionsPutCmd) Run(e *console.Env) error {
	// 1. Parse the pattern, and read the module.
	names := c.ServerNames(e)
	pattern, err := names.Text().Pattern(c.Pattern)
	if err != nil {
		return names.Cause(console.Usagef("--pattern: %w", err))
	}
	var module []byte
	if c.Module == "-" {
		module, err = io.ReadAll(e.Stdin)
	} else {
		module, err = os.ReadFile(c.Module)
	}
	if err != nil {
		return err
	}
	// 2. Register it.
	o := client.FunctionOptions{Pattern: pattern, Kinds: c.Kinds, Arguments: c.Argument, Check: c.Check, Retries: c.Retries, Stop: c.Stop,
		Loads: c.Loads, Timeout: c.Timeout, MemoryBytes: int64(c.Memory)}
	if o.Retries == 0 {
		o.Retries = -1 // 0 is the default of the client
	}
	return c.Request(e, func(to *client.Client) error {
		f, err := to.Functions.Put(e.Ctx, c.Name, module, o)
		if err != nil {
			return err
		}
		e.Sayf("the function %s is registered; its module has %s", f.Name, console.Plural(int64(f.ModuleBytes), "byte"))
		return nil
	})
}

type functionsGetCmd struct {
	target.ServerFlags
	Name   string `arg:"" help:"The name."`
	Module bool   `help:"Write the module to standard output."`
}

func (c *functionsGetCmd) Run(e *console.Env) error {
	return c.Request(e, func(to *client.Client) error {
		if c.Module {
			module, err := to.Functions.Module(e.Ctx, c.Name)
			if err == nil {
				_, err = e.Stdout.Write(module)
			}
			return err
		}
		f, err := to.Functions.Get(e.Ctx, c.Name)
		return console.Print(e, true, f, err, nil)
	})
}

type functionsDeleteCmd struct {
	target.ServerFlags
	Name string `arg:"" help:"The name."`
}

func (c *functionsDeleteCmd) Run(e *console.Env) error {
	return c.Request(e, func(to *client.Client) error { return to.Functions.Delete(e.Ctx, c.Name) })
}
