package cli

import (
	"bufio"
	"errors"
	"fmt"
	"github.com/trefoildb/trefoil/triple"
	"strings"

	"github.com/trefoildb/trefoil/node"
)

// checkCmd verifies a store.
type checkCmd struct {
	Data string `required:"" placeholder:"DIR" help:"The data directory; no server may have it open."`
	JSON bool   `help:"Print JSON."`
}

func (c *checkCmd) Run(e *env) (err error) {
	store, err := openStore(c.Data, node.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	report, err := store.Check(e.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		err = e.printJSON(report)
	} else {
		err = printReport(e, report)
	}
	if err == nil && len(report.Problems) > 0 {
		return errReported
	}
	return err
}

// printReport writes what a check found.
func printReport(e *env, r node.CheckReport) error {
	out := bufio.NewWriter(e.stdout)
	for _, p := range r.Problems {
		fmt.Fprint(out, "problem: ")
		if p.Order != "" {
			fmt.Fprintf(out, "%s: ", p.Order)
		}
		fmt.Fprint(out, p.Message)
		if p.Triple != "" {
			fmt.Fprintf(out, ": %s", strings.TrimSpace(p.Triple))
		}
		fmt.Fprintln(out)
	}
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
