// Completions for shells, and the manual page: both are made of the grammar.

package cli

import (
	"fmt"
	"io"
	"os"

	mangokong "github.com/alecthomas/mango-kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/muesli/roff"

	"github.com/trefoildb/trefoil/internal/cli/console"
)

// completionCmd prints how a shell completes commands.
type completionCmd struct{ kongcompletion.Completion }

// completed answers a shell that requests completions, and reports whether one has asked. The
// shell then runs the program with COMP_LINE.
func completed(stdout, stderr io.Writer) bool {
	if os.Getenv("COMP_LINE") == "" {
		return false
	}
	done := false
	parser := newParser(new(grammar), stdout, stderr, func(int) { done = true })
	kongcompletion.Register(parser)
	return done
}

// manCmd prints the manual page.
type manCmd struct{}

// Run implements the command.
func (manCmd) Run(e *console.Env) error {
	parser := newParser(new(grammar), e.Stdout, e.Stderr, func(int) {})
	_, err := fmt.Fprint(e.Stdout, mangokong.NewManPage(1, parser.Model).Build(roff.NewDocument()))
	return err
}
