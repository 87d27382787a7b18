// trefoil check: the verification of a store or cluster.

package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// checkCmd verifies a store, or a whole cluster.
type checkCmd struct {
	storeFlags
	JSON bool `help:"Print JSON."`
}

func (c *checkCmd) Run(e *env) (err error) {
	report, err := c.check(e)
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

func (c *checkCmd) check(e *env) (client.CheckReport, error) {
	local, err := c.local()
	defer e.working("check", nil)()
	switch {
	case err != nil:
		return client.CheckReport{}, err
	case local:
		return c.checkLocal(e)
	}
	return c.checkRemote(e)
}

func (c *checkCmd) checkRemote(e *env) (report client.CheckReport, err error) {
	r, err := c.connect(e)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return r.client.Check(e.ctx)
}

func (c *checkCmd) checkLocal(e *env) (report client.CheckReport, err error) {
	db, err := openStore(c.Data, store.Options{ReadOnly: true})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	found, err := db.Check(e.ctx)
	if err != nil {
		return report, err
	}
	// A node sends the report of its store as JSON, so both ways give the same report.
	text, err := json.Marshal(found)
	if err != nil {
		return report, err
	}
	return report, json.Unmarshal(text, &report)
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
