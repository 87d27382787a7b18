// trefoil check: the verification of a store or cluster.

package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// checkCmd verifies a store, or a whole cluster.
type checkCmd struct {
	storeFlags
	JSON bool `help:"Print JSON."`
}

func (c *checkCmd) Run(e *env) error {
	var report client.CheckReport
	err := c.with(e, reading, func(s target) (err error) {
		defer e.working("check", nil)()
		report, err = s.Check(e.ctx)
		return err
	})
	switch {
	case err != nil:
		return err
	case c.JSON:
		err = e.printJSON(report)
	default:
		err = printReport(e, report)
	}
	if err == nil && len(report.Problems) > 0 {
		return errReported
	}
	return err
}

// printReport writes the result of a check.
func printReport(e *env, r client.CheckReport) error {
	out := bufio.NewWriter(e.stdout)
	// 1. The problems.
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
		fmt.Fprintf(out, "%-12s %s\n", o, plural(r.Rows[o.String()], "row"))
	}
	fmt.Fprintf(out, "%-12s %s\n", "triples", number(r.Triples))
	fmt.Fprintf(out, "%-12s %s\n", "annotations", number(r.Annotations))
	verdict := "ok"
	if n := int64(len(r.Problems)) + r.More; n > 0 {
		verdict = plural(n, "problem")
	}
	fmt.Fprintln(out, verdict)
	return out.Flush()
}
