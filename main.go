// Trefoil is a distributed, ordered store for RDF triples. This is its one
// binary; package internal/cli holds the commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/trefoildb/trefoil/internal/cli"
)

func main() {
	// A closed pipe is an error of the write, not a death in the middle of a load.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks the command to end cleanly, a second one ends it.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
