// Trefoil is a distributed, ordered store for RDF triples. This is its one
// binary; package internal/cli holds the commands.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/trefoildb/trefoil/internal/cli"
)

func main() {
	// A closed pipe is an error of the write, not a death in the middle of a load.
	signal.Ignore(syscall.SIGPIPE)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	serves := len(os.Args) > 1 && os.Args[1] == "serve"
	// A server handles SIGHUP itself; nohup ignores it.
	if !serves && !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	// The first signal asks the command to end cleanly, a second one ends it.
	context.AfterFunc(ctx, func() {
		stop()
		if serves {
			return // it says so itself
		}
		fmt.Fprintln(os.Stderr, "trefoil: signal received: ending in order; another signal ends at once")
	})
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
