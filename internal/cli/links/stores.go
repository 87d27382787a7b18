// trefoil links stores: what of the graph is in memory.

package links

import (
	"io"
	"strconv"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/links"
)

type linksStoresCmd struct {
	target.ServerFlags
	Request    []string `placeholder:"STORE" help:"Load urls, forward or backward on all machines; several with commas."`
	Relinquish []string `placeholder:"STORE" help:"Unload them, until they are needed again."`
	JSON       bool     `help:"Print JSON."`
}

func (c *linksStoresCmd) Run(e *console.Env) error {
	// 1. Check the names before anything is done.
	request, err := links.ParseStores(c.Request)
	if err != nil {
		return console.Usage(err)
	}
	relinquish, err := links.ParseStores(c.Relinquish)
	if err != nil {
		return console.Usage(err)
	}
	if both := request & relinquish; both != 0 {
		return console.Usagef("%s is requested and relinquished", both)
	}
	return target.WithGraph(e, &c.ServerFlags, func(g links.Graph) error {
		loader := g.Capabilities().Loader
		// 2. What is relinquished makes room for what is requested.
		if relinquish != 0 {
			if err := loader.Relinquish(e.Ctx, relinquish); err != nil {
				return err
			}
		}
		if request != 0 {
			if err := loader.Request(e.Ctx, request); err != nil {
				return err
			}
		}
		// 3. Show what is in memory.
		servers, err := loader.Stores(e.Ctx)
		return console.Print(e, c.JSON, servers, err, printStores)
	})
}

// printStores writes a line for each store: the machine if there are several, name, bytes in memory, of
// how many in files, cells in memory, of how many.
func printStores(w io.Writer, servers []links.ServerStores) error {
	out := console.NewPrinter(w, false)
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, s := range servers {
		var machine []string
		if len(servers) > 1 {
			machine = []string{s.ID}
		}
		for _, one := range []struct {
			name string
			links.StoreMemory
		}{{links.URLStore.String(), s.URLs}, {links.ForwardStore.String(), s.Forward}, {links.BackwardStore.String(), s.Backward}} {
			fields := append(machine[:len(machine):len(machine)], one.name, number(one.Bytes), number(one.FileBytes), strconv.Itoa(one.Cells), strconv.Itoa(s.Cells))
			if err := out.Fields(fields...); err != nil {
				return out.End(err)
			}
		}
	}
	return out.End(nil)
}
