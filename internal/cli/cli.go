// Package cli is trefoil's command line. Each command is a file of its own and
// thin: flags -> configuration -> library call. Answers go to standard output,
// all else to standard error.
package cli

// This file holds the grammar, the way from arguments to a command, and the
// way from its error to an exit code.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// The exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitRejected = 3 // done, but malformed statements were left out
)

// grammar is the command line: kong reads the commands and flags from its tags.
type grammar struct {
	Serve    serveCmd    `cmd:"" help:"Serve a store over HTTP."`
	Load     loadCmd     `cmd:"" help:"Load RDF files in bulk: all of them or nothing."`
	Query    queryCmd    `cmd:"" help:"Run a SPARQL query."`
	Update   updateCmd   `cmd:"" help:"Carry out a SPARQL update: all of it or nothing."`
	Range    rangeCmd    `cmd:"" help:"List triples of one order between bounds."`
	Match    matchCmd    `cmd:"" help:"List triples that match a pattern."`
	Add      addCmd      `cmd:"" help:"Add the triples of files."`
	Delete   deleteCmd   `cmd:"" help:"Delete the triples of files, or those that match a pattern."`
	Count    countCmd    `cmd:"" help:"Count the triples that match a pattern."`
	Check    checkCmd    `cmd:"" help:"Verify a whole store or cluster: the copies agree, every row decodes."`
	Dump     dumpCmd     `cmd:"" help:"Write all triples as canonical N-Quads."`
	Backup   backupCmd   `cmd:"" help:"Write a consistent copy of a store as one tar file."`
	Restore  restoreCmd  `cmd:"" help:"Make a store of a backup."`
	Status   statusCmd   `cmd:"" help:"Show a store's version, members, segments and size."`
	Convert  convertCmd  `cmd:"" help:"Parse RDF files strictly and write canonical N-Triples or N-Quads."`
	Generate generateCmd `cmd:"" help:"Write a generated data set, the same for the same seed."`
	Links    linksCmd    `cmd:"" help:"Ask and change a server's graph of hyperlinks: UIDs, lists, samples, ranking."`
	Cluster  clusterCmd  `cmd:"" help:"Show a cluster, or change who is a member."`
	Cert     certCmd     `cmd:"" help:"Make the certificates and the gossip key of a cluster."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

const description = `An ordered store for RDF triples.

Reading commands ask a server (--to, default ` + defaultURL + `) or open a data directory where no server runs (--data).
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done with rejected statements.`

// env is what a command works with besides its flags.
type env struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	links links.Graph // in place of the server's; only tests set it
}

// sayf tells something that is no answer.
func (e *env) sayf(format string, args ...any) {
	fmt.Fprintf(e.stderr, "trefoil: "+format+"\n", args...)
}

// usageError is a mistake in the arguments that the grammar cannot see.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// errRejected ends a command that did its work but left statements out. The
// command has said so already.
var errRejected = errors.New("statements were rejected")

// errReported ends a command that failed and has said why.
var errReported = errors.New("failed")

// grammarFor returns the grammar of a command line: of the command that it names
// alone, or the whole one. Kong works through every flag that it is given, at each
// start.
func grammarFor(args []string) any {
	whole := reflect.TypeFor[grammar]()
	for i := range whole.NumField() {
		if command := whole.Field(i); len(args) > 0 && args[0] == strings.ToLower(command.Name) {
			return reflect.New(reflect.StructOf([]reflect.StructField{command})).Interface()
		}
	}
	return new(grammar)
}

// newParser returns the parser of a grammar. It calls exit when it has printed help.
func newParser(grammar any, stdout, stderr io.Writer, exit func(int)) *kong.Kong {
	parser, err := kong.New(grammar,
		kong.Name("trefoil"),
		kong.Description(description),
		flagVars(),
		kong.Writers(stdout, stderr),
		kong.WithHyphenPrefixedParameters(true), // --ge -5
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Exit(exit),
	)
	if err != nil {
		panic(err) // the grammar is wrong, whatever the arguments
	}
	return parser
}

// Run runs one command line, without the program's name, and returns the exit
// code. It ends soon after ctx is done.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runIn(&env{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr}, args)
}

// runIn runs one command line in its surroundings.
func runIn(e *env, args []string) int {
	ctx, stdout, stderr := e.ctx, e.stdout, e.stderr
	helped := false
	parser := newParser(grammarFor(args), stdout, stderr, func(int) { helped = true })
	if len(args) == 0 {
		args = []string{"--help"}
		parser.Stdout = stderr
		parser.Parse(args)
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	if helped {
		return exitDone
	}
	if err == nil {
		err = parsed.Run(e)
	}
	return exitCode(ctx, err, stderr)
}

// hinted is an error with advice: what its place in the code cannot know, and
// the command line can.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// exitCode reports an error once and returns its code.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	var usage usageError
	var parse *kong.ParseError
	var bad *triple.SyntaxError
	var placed placedError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errRejected):
		return exitRejected
	case errors.Is(err, errReported), errors.Is(err, syscall.EPIPE):
		return exitFailed // whoever closed the pipe knows
	case errors.As(err, &usage), errors.As(err, &parse):
		fmt.Fprintf(stderr, "trefoil: %v\n%s\n", err, seeHelp(parse))
		return exitUsage
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(stderr, "trefoil: interrupted")
	case errors.As(err, &placed):
		fmt.Fprintln(stderr, placed)
	case errors.As(err, &bad):
		fmt.Fprintln(stderr, bad) // file:line:column: message, as compilers write it
	default:
		fmt.Fprintf(stderr, "trefoil: %v\n", err)
	}
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(stderr, "  %s\n", hint)
	}
	return exitFailed
}

// seeHelp names the help that fits a usage error.
func seeHelp(parse *kong.ParseError) string {
	if parse != nil && parse.Context != nil {
		if selected := parse.Context.Selected(); selected != nil {
			return "  See: " + selected.FullPath() + " --help"
		}
	}
	return "  See: trefoil --help"
}

// hintFor says what to do about an error.
func hintFor(err error) string {
	var h hinted
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.Is(err, node.ErrLocked):
		return "If a server has it open, ask the server: --to URL instead of --data."
	case errors.Is(err, node.ErrMember):
		return "Ask a node of the cluster with --to URL; trefoil dump --part writes what this one directory has."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "No server answers there. Start one with trefoil serve --data DIR, or open the directory itself with --data DIR."
	case errors.Is(err, syscall.EADDRINUSE):
		return "Another process listens there. Choose another address with --listen; port 0 takes any free one."
	case errors.Is(err, input.ErrSyntax):
		return "Name the syntax with --from."
	case errors.Is(err, linkfile.ErrFormat):
		return "Name it with --format."
	case errors.Is(err, engine.ErrTimeout):
		return "Give it more time with --timeout, or look at its plan with --explain."
	case errors.Is(err, engine.ErrUpdateMemory):
		return "Give it more with --update-memory, or send it in parts; trefoil load takes documents of any size."
	}
	if hint := hintForLinks(err); hint != "" {
		return hint
	}
	return hintForRemote(err)
}

// printJSON writes a value as one line of JSON.
func (e *env) printJSON(value any) error {
	out := json.NewEncoder(e.stdout)
	out.SetEscapeHTML(false)
	return out.Encode(value)
}

// flagVars are what the help texts of flags refer to.
func flagVars() kong.Vars {
	return kong.Vars{"url": defaultURL, "kinds": kindNames(), "syntaxes": syntax.Names(),
		"linkformats": linkfile.Names(), "linkpredicate": links.DefaultPredicate}
}
