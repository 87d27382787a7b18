// Package documents reads and writes the RDF documents of commands: their flags, files and standard input, and the
// formats of output. It has trefoil convert.
package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/contexts"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// InputFlags holds the flags and arguments of commands that read RDF.
type InputFlags struct {
	From    string           `placeholder:"SYNTAX" help:"${syntaxes}; by the file's name or its content where not given."`
	Base    string           `placeholder:"IRI" help:"Resolve relative IRIs against this one."`
	RDFStar bool             `name:"rdf-star" help:"Read quoted triples << s p o >> of the RDF-star drafts: each becomes a blank node that reifies the triple, the same for equal triples of a document. RDF 1.2 needs no flag."`
	MaxLine console.ByteSize `default:"64MiB" placeholder:"SIZE" help:"Greatest line, or token; ${default} by default."`
	nestingFlags
	Context []string `sep:"none" placeholder:"URL=FILE" help:"The JSON-LD context that documents name by this URL; repeatable. http and https are the same."`
	found   prefixes.Found
	skipped string        // the warning about files that directories have and list left out
	loaded  *contexts.Set // of --context; made by check
	Files   []string      `arg:"" optional:"" name:"file" help:"Files, directories, globs; - is standard input. .gz, .bz2, .zst and .xz are recognized by content."`
}

// AfterApply sets the limit of the process's parsers.
func (n nestingFlags) AfterApply() error {
	if n.MaxNesting <= 0 {
		return console.Usagef("--max-nesting %d: it must be more than 0", n.MaxNesting)
	}
	triple.SetMaxNesting(n.MaxNesting)
	return nil
}

// nestingFlags bound the depth of triple terms.
type nestingFlags struct {
	MaxNesting int `default:"100" placeholder:"N" help:"Most levels of triple terms in one another that are read, ${default} by default. Answers in JSON and XML are read up to 1,000 levels."`
}

// List returns the documents. It warns at once if directories have other files, because a reading may
// be long.
func (d *InputFlags) List(e *console.Env, names input.Names) ([]input.Source, error) {
	if len(d.Files) == 0 {
		return nil, console.Usagef("name files, directories or globs to read; - is standard input")
	}
	sources, skipped, err := input.List(d.Files, names)
	if d.skipped = skipped.Warning(names); d.skipped != "" {
		e.Sayf("warning: %s", d.skipped)
	}
	return sources, err
}

// Syntax returns the syntax of --from; zero if it is not given.
func (d *InputFlags) Syntax() (syntax.Syntax, error) {
	if d.From == "" {
		return 0, nil
	}
	s, err := syntax.ByName(d.From)
	if err != nil {
		return 0, console.Usagef("--from: %w", err)
	}
	return s, nil
}

// OtherSyntax returns a hint if a file with a syntax error looks like a document of another syntax
// than its name says; else "".
func OtherSyntax(err error) string {
	// 1. Read the beginning of the file.
	var bad *triple.SyntaxError
	if !errors.As(err, &bad) {
		return ""
	}
	named, ok := syntax.ByFile(bad.Source)
	in, err := input.File(bad.Source, bad.Source).Open()
	if !ok || err != nil {
		return ""
	}
	defer in.Close()
	head := make([]byte, syntax.SniffBytes)
	n, err := io.ReadFull(in, head)
	// 2. Compare what it looks like. Whatever begins as a statement might be TriG, so its first one
	// must be well-formed.
	found, ok := syntax.Sniff(head[:n], err != nil)
	if !ok || found == named || found == syntax.NQuads || found == syntax.TriG && named == syntax.Turtle {
		return ""
	}
	if found == syntax.TriG {
		if start := bytes.TrimSpace(head[:n]); start[0] == '<' || start[0] == '_' {
			return "" // it begins as N-Triples do
		}
		for _, err := range syntax.Parse(context.Background(), bytes.NewReader(head[:n]), found, syntax.Options{}) {
			if err != nil {
				return ""
			}
			break
		}
		return fmt.Sprintf("It looks like Turtle or TriG, and its name says %v: --from ttl or --from trig reads it.", named)
	}
	return fmt.Sprintf("It looks like %v, and its name says %v: --from %s reads it.", found, named, found.Name())
}

// PrefixesFound are the prefixes of the documents that were read.
func (d *InputFlags) PrefixesFound() *prefixes.Found { return &d.found }

// WithSkipped puts the warning of list before those of a summary. It was printed already.
func (d *InputFlags) WithSkipped(warnings []string) []string {
	if d.skipped == "" {
		return warnings
	}
	return append([]string{d.skipped}, warnings...)
}

// Check returns an error if a flag is wrong, before anything is read.
func (d *InputFlags) Check() error {
	if _, err := d.Syntax(); err != nil {
		return err
	}
	if d.Base != "" {
		if err := triple.CheckIRI(d.Base); err != nil {
			return console.Usagef("--base %s: %w", d.Base, err)
		}
	}
	_, err := d.Contexts()
	return err
}

// Contexts returns the contexts of --context.
func (d *InputFlags) Contexts() (*contexts.Set, error) {
	if d.loaded != nil {
		return d.loaded, nil
	}
	files := make(map[string]string)
	for _, pair := range d.Context {
		url, file, err := splitContext(pair)
		if err != nil {
			return nil, err
		}
		if files[url] != "" {
			return nil, console.Usagef("--context: <%s> has two files", url)
		}
		files[url] = file
	}
	set, err := contexts.New(contexts.Options{Files: files, Hint: func(url string) string {
		return fmt.Sprintf("name a file that has it: --context %s=FILE", url)
	}})
	if err != nil {
		return nil, console.Usagef("--context: %w", err)
	}
	d.loaded = set
	return set, nil
}

// splitContext splits URL=FILE at the first '=' behind which there is a file, because both may have
// one.
func splitContext(pair string) (url, file string, err error) {
	for at := range len(pair) {
		if pair[at] != '=' {
			continue
		}
		url, file = pair[:at], pair[at+1:]
		if _, err := os.Stat(file); err == nil {
			return url, file, nil
		}
	}
	if file == "" {
		return "", "", console.Usagef("--context %s: write URL=FILE, such as https://schema.org/=schemaorg.jsonld", pair)
	}
	return "", "", console.Usagef("--context %s: there is no file %s", pair, file)
}

// TriplesOf returns the triples of statements.
func TriplesOf(batch []target.Statement) []triple.Triple {
	triples := make([]triple.Triple, len(batch))
	for i := range batch {
		triples[i] = batch[i].Triple
	}
	return triples
}

// parse yields the statements of a document. prefix is that of its blank nodes.
func (d *InputFlags) parse(e *console.Env, source input.Source, prefix string) iter.Seq2[target.Statement, error] {
	return func(yield func(target.Statement, error) bool) {
		// 1. Open the document and find its syntax.
		in, err := e.Open(source)
		if err != nil {
			yield(target.Statement{}, err)
			return
		}
		defer in.Close()
		s, err := d.Syntax()
		if err == nil && s == 0 {
			s, err = in.Syntax(source.Name, d.RDFStar)
		}
		if err != nil {
			yield(target.Statement{}, err)
			return
		}
		known, err := d.Contexts()
		if err != nil {
			yield(target.Statement{}, err)
			return
		}
		// 2. Parse it. The parser reports annotations before their triple.
		var annotations []triple.ApplicationData
		opts := syntax.Options{Source: source.Name, Base: d.Base, BlankPrefix: prefix, MaxLine: int(d.MaxLine), RDFStar: d.RDFStar, Contexts: known.Context,
			Annotated: func(all []triple.ApplicationData) { annotations = all },
			Prefix:    d.found.Add,
			Warn:      func(message string) { e.Sayf("warning: %s", message) }}
		for t, err := range syntax.Parse(e.Ctx, in, s, opts) {
			if !yield(target.Statement{Triple: t, Attached: annotations}, err) || err != nil {
				return
			}
			annotations = nil
		}
	}
}

// EachBatch calls do with the triples of all documents, in batches. If there is more than one
// batch, it reads the documents twice, because a malformed statement must be found before the first
// call.
func (d *InputFlags) EachBatch(e *console.Env, prefix string, do func(context.Context, []target.Statement) error) error {
	// 1. List the documents. Standard input is spooled, because it may be read twice.
	sources, err := d.List(e, input.RDF)
	if err != nil {
		return err
	}
	sources, cleanup, err := console.SpoolStdin(e, sources)
	if err != nil {
		return err
	}
	defer cleanup()

	// 2. Read all, and keep the first batch. If it is the only one, the second reading is not
	// needed.
	var batch []target.Statement
	total := 0
	for t, err := range d.all(e, sources, prefix) {
		if err != nil {
			return err
		}
		if total++; total <= batchTriples {
			batch = append(batch, t)
		}
	}
	if total <= batchTriples {
		if total == 0 {
			return nil
		}
		return do(e.Ctx, batch)
	}
	// 3. Read again, batch by batch.
	batch = batch[:0]
	for t, err := range d.all(e, sources, prefix) {
		if err != nil {
			return err
		}
		if batch = append(batch, t); len(batch) == batchTriples {
			if err := do(e.Ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return do(e.Ctx, batch)
}

// all yields the statements of all documents.
func (d *InputFlags) all(e *console.Env, sources []input.Source, prefix string) iter.Seq2[target.Statement, error] {
	return func(yield func(target.Statement, error) bool) {
		for i, source := range sources {
			for t, err := range d.parse(e, source, documentPrefix(prefix, i)) {
				if !yield(t, err) || err != nil {
					return
				}
			}
		}
	}
}

// documentPrefix separates the blank nodes of several documents; "" keeps labels as written.
func documentPrefix(prefix string, i int) string {
	if prefix == "" {
		return ""
	}
	return fmt.Sprintf("%sd%d", prefix, i)
}

// batchTriples is the number of triples in one add or delete, because each costs an fsync.
const batchTriples = 10_000

// NotFile adds a hint to an error if a file is missing whose name is rather a triple or a pattern.
func (d *InputFlags) NotFile(err error, hint string) error {
	if errors.Is(err, fs.ErrNotExist) && slices.ContainsFunc(d.Files, func(name string) bool { return len(strings.Fields(name)) > 2 }) {
		return console.WithHint(err, hint)
	}
	return err
}
