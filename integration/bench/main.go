// Bench measures a trefoil binary and prints its figures as Markdown tables:
//
//	go run ./integration/bench [-suite store|cluster|links|changes|peers|text] [flags of the suite]
//
// Suite store measures one store and one server, for docs/BENCHMARKS.md; cluster measures
// clusters of processes, links the hyperlink store, changes the change feed and text the text search
// beside Lucene, all for the same page; peers measures other stores beside trefoil.
// -help after -suite lists the flags of a suite. -suite must be the first flag, because the others
// depend on it.
//
// Package rig has the parts that the suites share: figures, data files and processes. Data
// files are made once and kept in -dir. All processes end with the program, also if it is
// interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/trefoildb/trefoil/integration/bench/changes"
	"github.com/trefoildb/trefoil/integration/bench/cluster"
	"github.com/trefoildb/trefoil/integration/bench/links"
	"github.com/trefoildb/trefoil/integration/bench/peers"
	"github.com/trefoildb/trefoil/integration/bench/store"
	"github.com/trefoildb/trefoil/integration/bench/text"
)

// suites define their flags and return the function that measures.
var suites = map[string]func(*flag.FlagSet) func(ctx context.Context, args []string) error{
	"store": store.Suite, "cluster": cluster.Suite, "links": links.Suite, "changes": changes.Suite, "peers": peers.Suite, "text": text.Suite,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	name, args := cutSuite(args)
	suite := suites[name]
	if suite == nil {
		return fmt.Errorf("-suite %s: it must be store, cluster, links, changes, peers or text", name)
	}
	flags := flag.NewFlagSet("bench -suite "+name, flag.ContinueOnError)
	measure := suite(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	return measure(ctx, flags.Args())
}

// cutSuite returns the suite that args begin with, and the rest of args.
func cutSuite(args []string) (suite string, rest []string) {
	if len(args) == 0 {
		return "store", args
	}
	flagName, value, ok := strings.Cut(strings.TrimPrefix(args[0], "-"), "=")
	switch {
	case strings.TrimPrefix(flagName, "-") != "suite":
		return "store", args
	case ok:
		return value, args[1:]
	case len(args) == 1:
		return "", nil
	}
	return args[1], args[2:]
}
