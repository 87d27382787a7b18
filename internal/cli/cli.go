// Package cli is the command line of trefoil. [Run] parses the arguments by the grammar of the
// commands. Each command is a struct of flags with a method Run, and it is thin: flags -> options
// -> library call. Results go to standard output, messages to standard error.
//
// The commands are in packages below this one, by what they are for. All use package console. Those
// that need a store get it from package target: a data directory in this process, or a server.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/trefoildb/trefoil/internal/cli/admin"
	"github.com/trefoildb/trefoil/internal/cli/cluster"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/documents"
	linkcmd "github.com/trefoildb/trefoil/internal/cli/links"
	"github.com/trefoildb/trefoil/internal/cli/load"
	"github.com/trefoildb/trefoil/internal/cli/query"
	"github.com/trefoildb/trefoil/internal/cli/rdf"
	"github.com/trefoildb/trefoil/internal/cli/serve"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/oidc"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// The exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitRejected = 3 // done, but without malformed statements
)

// grammar is the command line: kong reads the commands and flags from its tags.
type grammar struct {
	Serve         serve.Cmd              `cmd:"" help:"Serve a store over HTTP."`
	Load          load.Cmd               `cmd:"" help:"Load RDF files in bulk: all of them or nothing."`
	Query         query.Cmd              `cmd:"" help:"Run a SPARQL query."`
	Update        query.UpdateCmd        `cmd:"" help:"Carry out a SPARQL update: all of it or nothing."`
	Range         rdf.RangeCmd           `cmd:"" help:"List triples of one order between bounds."`
	Match         rdf.MatchCmd           `cmd:"" help:"List triples that match a pattern."`
	Watch         rdf.WatchCmd           `cmd:"" help:"Follow the changes of a server's triples."`
	Add           rdf.AddCmd             `cmd:"" help:"Add the triples of files."`
	Delete        rdf.DeleteCmd          `cmd:"" help:"Delete the triples of files, or those that match a pattern."`
	Annotate      rdf.AnnotateCmd        `cmd:"" help:"Set or remove what an application attaches to a triple."`
	Annotations   rdf.AnnotationsCmd     `cmd:"" help:"List what applications attach to triples."`
	Count         rdf.CountCmd           `cmd:"" help:"Count the triples that match a pattern."`
	Check         admin.CheckCmd         `cmd:"" help:"Verify a whole store or cluster: the copies agree, every row decodes."`
	Dump          rdf.DumpCmd            `cmd:"" help:"Write all triples as canonical N-Quads."`
	Backup        admin.BackupCmd        `cmd:"" help:"Write a consistent copy of a store or a cluster, or what has changed since the last one."`
	Restore       admin.RestoreCmd       `cmd:"" help:"Make a store of a backup and its increments, as of their end or of an earlier moment."`
	Status        cluster.StatusCmd      `cmd:"" help:"Show a store's version, members, segments and size."`
	Convert       documents.ConvertCmd   `cmd:"" help:"Parse RDF files strictly and write canonical N-Triples or N-Quads."`
	Generate      rdf.GenerateCmd        `cmd:"" help:"Write a generated data set, the same for the same seed."`
	Links         linkcmd.Cmd            `cmd:"" help:"Ask and change a server's graph of hyperlinks: UIDs, lists, samples, ranking."`
	Search        admin.SearchCmd        `cmd:"" help:"Search a server's literals for words, phrases and prefixes, the best first."`
	Text          admin.TextCmd          `cmd:"" help:"Show and change the predicates whose literals a server indexes for search."`
	Prefixes      rdf.PrefixesCmd        `cmd:"" help:"Show and change the prefixes of a store: names such as ex:age in commands and results."`
	Functions     admin.FunctionsCmd     `cmd:"" help:"Show and change a server's update functions: WebAssembly modules that run when triples change."`
	Queries       query.QueriesCmd       `cmd:"" help:"List the running queries of a server, or its slow ones, and stop them."`
	Subscriptions admin.SubscriptionsCmd `cmd:"" help:"Show and change a server's subscriptions: changes that it sends to webhooks."`
	Cluster       cluster.Cmd            `cmd:"" help:"Show a cluster, or change who is a member."`
	Cert          cluster.CertCmd        `cmd:"" help:"Make the certificates and the gossip key of a cluster."`
	Users         serve.UsersCmd         `cmd:"" help:"Make the hashes of passwords for the users of a server."`
	Config        serve.ConfigCmd        `cmd:"" help:"Print the settings of a server as a file for serve --config."`
	Completion    completionCmd          `cmd:"" help:"Print how to complete trefoil's commands and flags in bash, zsh or fish."`
	Man           manCmd                 `cmd:"" help:"Print the manual page, for man."`
	Version       cluster.VersionCmd     `cmd:"" help:"Print the version."`
}

const description = `An ordered store for RDF triples.

Reading commands ask a server (--to, default ` + target.DefaultURL + `) or open a data directory where no server runs (--data).
trefoil help COMMAND tells more. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done with rejected statements.`

// grammarFor returns the grammar of a command line. If the first argument names a command, the
// grammar has only that one, because kong processes every flag of its grammar at each start.
func grammarFor(args []string) any {
	whole := reflect.TypeFor[grammar]()
	for i := range whole.NumField() {
		if command := whole.Field(i); len(args) > 0 && args[0] == strings.ToLower(command.Name) {
			return reflect.New(reflect.StructOf([]reflect.StructField{command})).Interface()
		}
	}
	return new(grammar)
}

// newParser returns the parser of a grammar. It calls exit after it has printed help.
func newParser(grammar any, stdout, stderr io.Writer, exit func(int)) *kong.Kong {
	parser, err := kong.New(grammar,
		kong.Name("trefoil"),
		kong.Description(description),
		flagVars(),
		kong.PostBuild(serve.AddVariables),
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

// Run runs one command line, without the program's name, and returns the exit code. When ctx is
// done, it ends soon.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if completed(stdout, stderr) {
		return exitDone
	}
	return runIn(&console.Env{Ctx: ctx, Stdin: stdin, Stdout: stdout, Stderr: stderr, Width: console.WidthOf(stdout)}, args)
}

// runIn runs one command line in an environment.
func runIn(e *console.Env, args []string) int {
	ctx, stdout, stderr := e.Ctx, e.Stdout, e.Stderr
	// Other ways to request help and the version.
	switch {
	case len(args) > 0 && args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "--version":
		args = []string{"version"}
	}
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
	serve.FindVariables(e, parser.Model, contextOf(parsed, err))
	say := func(message string) { e.Sayf("warning: %s", message) }
	// A server writes the warnings to its log, which may be JSON. If it cannot start, a variable may be
	// the reason.
	if err != nil || parsed.Selected().Name != "serve" {
		e.WarnVariables(say)
	}
	if err == nil {
		err = parsed.Run(e)
		e.WarnVariables(say)
	}
	return exitCode(ctx, err, commandOf(parsed, err), stderr)
}

// exitCode reports an error of a command once and returns its code.
func exitCode(ctx context.Context, err error, command string, stderr io.Writer) int {
	// 1. Outcomes with codes of their own, or without a message.
	var usage console.UsageError
	var parse *kong.ParseError
	var bad *triple.SyntaxError
	var placed console.PlacedError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, console.ErrRejected):
		return exitRejected
	case errors.Is(err, console.ErrReported), errors.Is(err, syscall.EPIPE):
		return exitFailed // the reader closed the pipe
	case errors.As(err, &usage), errors.As(err, &parse):
		fmt.Fprintf(stderr, "trefoil: %v\n  See: %s --help\n", err, command)
		return exitUsage
	// 2. The message. The order matters, because an error may wrap another one.
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(stderr, "trefoil: interrupted")
	case errors.As(err, &placed):
		fmt.Fprintln(stderr, placed)
	case errors.As(err, &bad):
		fmt.Fprintln(stderr, bad) // file:line:column: message, as compilers write it
	default:
		fmt.Fprintf(stderr, "trefoil: %v\n", err)
	}
	// 3. A hint, if there is one.
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(stderr, "  %s\n", hint)
	}
	return exitFailed
}

// commandOf returns the command whose help explains an error: the one that ran or, if the arguments cannot be parsed,
// the one that was found in them.
func commandOf(parsed *kong.Context, err error) string {
	if parsed = contextOf(parsed, err); parsed != nil && parsed.Selected() != nil {
		return parsed.Selected().FullPath()
	}
	return "trefoil"
}

// contextOf returns what was parsed, or that part of it which comes before an error; nil if there is none.
func contextOf(parsed *kong.Context, err error) *kong.Context {
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		return parse.Context
	}
	return parsed
}

// hintFor returns a hint to solve an error; "" if there is none.
func hintFor(err error) string {
	if hint := console.HintOf(err); hint != "" {
		return hint
	}
	switch {
	case errors.Is(err, store.ErrLocked):
		return "If a server has it open, use the server: --to URL instead of --data."
	case errors.Is(err, store.ErrMember):
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
	return cmp.Or(documents.OtherSyntax(err), linkcmd.Hint(err), target.Hint(err))
}

// flagVars are the variables in help texts of flags.
func flagVars() kong.Vars {
	return kong.Vars{"url": target.DefaultURL, "kinds": rdf.KindNames(), "syntaxes": syntax.Names(),
		"linkformats": linkfile.Names(), "linkpredicate": links.DefaultPredicate, "oidcclaim": oidc.DefaultClaim}
}
