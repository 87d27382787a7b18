// trefoil search and trefoil text: searches of literals, and the indexed predicates.

package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/retry"
)

// SearchCmd searches the literals of a server.
type SearchCmd struct {
	target.ServerFlags
	Query     string  `arg:"" help:"Words, \"phrases\", prefixes*, fuzzy~ words, AND, OR, NOT or -, and parentheses."`
	Predicate string  `short:"p" placeholder:"IRI" help:"Search the literals of this predicate only. By default all indexed ones."`
	Lang      *string `placeholder:"TAG" help:"Search literals with this language only: en also finds en-GB. Empty is literals without a language."`
	Limit     int     `default:"10" help:"The most hits, up to 1000. ${default} by default."`
	Subjects  int     `default:"3" help:"How many subjects of each literal to print. ${default} by default."`
	Scan      bool    `help:"Search a predicate without an index, too, by reading its literals."`
	Format    string  `enum:"text,json" default:"text" help:"text or json. ${default} by default."`
}

// Run prints the hits: score, TAB, snippet, TAB, predicates, TAB, subjects.
func (c *SearchCmd) Run(e *console.Env) error {
	return requestText(e, &c.ServerFlags, &c.Predicate, func(to *client.Client) error {
		result, err := to.Text.Search(e.Ctx, client.SearchRequest{Query: c.Query, Predicate: c.Predicate, Language: c.Lang, Limit: c.Limit, Subjects: c.Subjects, Scan: c.Scan})
		return console.Print(e, c.Format == "json", result, err, printHits)
	})
}

func printHits(w io.Writer, result client.SearchResult) error {
	out := bufio.NewWriter(w)
	for _, h := range result.Hits {
		fmt.Fprintf(out, "%.4f\t%s\t%s\t%s\n", h.Score, strings.Join(strings.Fields(h.Snippet), " "), strings.Join(h.Predicates, " "), strings.Join(h.Subjects, " "))
	}
	return out.Flush()
}

// TextCmd shows and changes the indexed predicates of a server.
type TextCmd struct {
	List   textListCmd   `cmd:"" default:"withargs" help:"List the indexed predicates; the default."`
	Add    textAddCmd    `cmd:"" help:"Index the literals of a predicate."`
	Remove textRemoveCmd `cmd:"" help:"End the index of a predicate."`
}

type textListCmd struct {
	target.ServerFlags
	Format string `enum:"text,json" default:"text" help:"text or json. ${default} by default."`
}

// Run prints the predicates: predicate, literals, words, bytes, trigrams, and whether it is being built.
func (c *textListCmd) Run(e *console.Env) error {
	return c.Request(e, func(to *client.Client) error {
		s, err := to.Text.Predicates(e.Ctx)
		if err == nil && c.Format == "text" && s.Problem != "" {
			e.Sayf("the text index is behind: %s", s.Problem)
		}
		return console.Print(e, c.Format == "json", s, err, printPredicates)
	})
}

func printPredicates(w io.Writer, s client.TextStatus) error {
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range s.Predicates {
		state := "ready"
		if !p.Complete {
			state = "being built"
		}
		if p.Segments == 0 { // it is empty, or the user has some graphs only and gets no counts
			fmt.Fprintf(lines, "%s\t%s\n", p.Predicate, state)
			continue
		}
		trigrams := "no trigrams"
		if p.Trigrams {
			trigrams = fmt.Sprintf("%d of them trigrams", p.TrigramBytes)
		}
		fmt.Fprintf(lines, "%s\t%d literals\t%d words\t%d bytes\t%s\t%s\n", p.Predicate, p.Documents, p.Words, p.Bytes, trigrams, state)
	}
	return lines.Flush()
}

type textAddCmd struct {
	target.ServerFlags
	Predicate string `arg:"" help:"The predicate: an IRI, or a name with a prefix of the store such as rdfs:label."`
	Trigrams  bool   `help:"Also index parts of words, so that CONTAINS, STRSTARTS, STRENDS and REGEX in filters need not read all literals. Without it an index has no trigrams, or none any more."`
	Wait      bool   `help:"Wait until the server has built the index."`
}

// textPoll is the time between two requests for the state of a build.
const textPoll = 200 * time.Millisecond

func (c *textAddCmd) Run(e *console.Env) error {
	return requestText(e, &c.ServerFlags, &c.Predicate, func(to *client.Client) error {
		add := to.Text.AddPredicate
		if c.Trigrams {
			add = to.Text.AddTrigrams
		}
		if err := add(e.Ctx, c.Predicate); err != nil || !c.Wait {
			return err
		}
		return awaitText(e.Ctx, to, c.Predicate)
	})
}

// awaitText waits until the index of a predicate is built.
func awaitText(ctx context.Context, of *client.Client, predicate string) error {
	for {
		s, err := of.Text.Predicates(ctx)
		if err != nil {
			return err
		}
		for _, p := range s.Predicates {
			if p.Predicate == predicate && p.Complete {
				return nil
			}
		}
		if strings.Contains(s.Problem, "--text-memory") {
			return errors.New(s.Problem)
		}
		if err := retry.Sleep(ctx, textPoll); err != nil {
			return err
		}
	}
}

type textRemoveCmd struct {
	target.ServerFlags
	Predicate string `arg:"" help:"The predicate, as for add."`
}

func (c *textRemoveCmd) Run(e *console.Env) error {
	return requestText(e, &c.ServerFlags, &c.Predicate, func(to *client.Client) error { return to.Text.RemovePredicate(e.Ctx, c.Predicate) })
}

// requestText is request after *predicate was replaced by its IRI.
func requestText(e *console.Env, s *target.ServerFlags, predicate *string, do func(*client.Client) error) error {
	return s.Request(e, func(to *client.Client) (err error) {
		if *predicate, err = textPredicate(s.ServerNames(e), *predicate); err != nil {
			return err
		}
		return do(to)
	})
}

// textPredicate returns the IRI of a predicate that may be written as a name, or between angle brackets.
func textPredicate(known *target.Names, name string) (string, error) {
	iri := strings.TrimSuffix(strings.TrimPrefix(name, "<"), ">")
	if name == "" || iri != name {
		return iri, nil
	}
	// Names such as rdfs are fixed, so they are no prefixes of a store.
	if prefix, local, _ := strings.Cut(name, ":"); prefixes.WellKnown()[prefix] != "" && prefixes.Check(prefix, "urn:x") != nil {
		return prefixes.WellKnown()[prefix] + local, nil
	}
	names := []string{name}
	err := known.Expand(names)
	return names[0], err
}
