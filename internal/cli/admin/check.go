// trefoil check: the verification of a store or cluster.

package admin

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/triple"
)

// CheckCmd verifies a store, or a whole cluster.
type CheckCmd struct {
	target.StoreFlags
	JSON bool `help:"Print JSON."`
}

func (c *CheckCmd) Run(e *console.Env) error {
	var report client.CheckReport
	err := c.With(e, target.Reading, func(s target.Store) (err error) {
		defer e.Working("check", nil)()
		report, err = s.Admin.Check(e.Ctx)
		return err
	})
	if err = console.Print(e, c.JSON, report, err, printReport); err == nil && len(report.Problems) > 0 {
		return console.ErrReported
	}
	return err
}

// printReport writes the result of a check.
func printReport(w io.Writer, r client.CheckReport) error {
	out := bufio.NewWriter(w)
	// 1. The problems come first, because a long list must not hide the verdict.
	for _, p := range r.Problems {
		fmt.Fprint(out, "problem: ")
		if p.Machine != "" {
			fmt.Fprintf(out, "machine %s: ", p.Machine)
		}
		if p.Order != "" {
			fmt.Fprintf(out, "%s: ", p.Order)
		}
		fmt.Fprint(out, p.Message)
		if p.Triple != "" {
			fmt.Fprintf(out, ": %s", strings.TrimSpace(p.Triple))
		}
		fmt.Fprintln(out)
	}
	// 2. The counts, and the verdict.
	for _, o := range triple.Orders {
		fmt.Fprintf(out, "%-12s %s\n", o, console.Plural(r.Rows[o.String()], "row"))
	}
	fmt.Fprintf(out, "%-12s %s\n", "triples", console.Number(r.Triples))
	fmt.Fprintf(out, "%-12s %s\n", "annotations", console.Number(r.Annotations))
	verdict := "ok"
	if n := int64(len(r.Problems)) + r.More; n > 0 {
		verdict = console.Plural(n, "problem")
	}
	fmt.Fprintln(out, verdict)
	return out.Flush()
}
