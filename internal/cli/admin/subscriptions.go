// trefoil subscriptions: the subscriptions of a server.

package admin

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
)

// SubscriptionsCmd shows and changes subscriptions.
type SubscriptionsCmd struct {
	List   subscriptionsListCmd   `cmd:"" help:"List the subscriptions with their counts."`
	Put    subscriptionsPutCmd    `cmd:"" help:"Register for changes, or change a registration."`
	Get    subscriptionsGetCmd    `cmd:"" help:"Show one subscription as JSON: its position, the last error, dead letters."`
	Delete subscriptionsDeleteCmd `cmd:"" help:"Delete a subscription."`
}

type subscriptionsListCmd struct {
	target.ServerFlags
	JSON bool `help:"Print JSON."`
}

func (c *subscriptionsListCmd) Run(e *console.Env) error {
	return c.Request(e, func(to *client.Client) error {
		list, err := to.Subscriptions.List(e.Ctx)
		return console.Print(e, c.JSON, list, err, printSubscriptions)
	})
}

func printSubscriptions(out io.Writer, list []client.Subscription) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFILTER\tCHANGES\tFAILURES\tDEAD\tTARGET")
	for _, s := range list {
		var filter []string
		for name, value := range s.Filter {
			filter = append(filter, name+"="+value)
		}
		slices.Sort(filter)
		target := s.URL
		if target == "" {
			target = "read by its application"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\n", s.Name, strings.Join(filter, " "), s.State.Changes, s.State.Failures, s.State.DeadLetters, target)
	}
	return w.Flush()
}

type subscriptionsPutCmd struct {
	target.ServerFlags
	Name    string `arg:"" help:"The name: letters, digits, '-' and '_'."`
	Pattern string `placeholder:"PATTERN" help:"The changed triples: '? <http://example.org/likes> ?'. All by default."`
	Order   string `help:"The order of a range, if the flags below give one: spo, pos, osp or gspo."`
	target.BoundsFlags
	Kinds []string `placeholder:"KINDS" help:"add, delete, annotate, load, clear: all by default. And read: which patterns clients read, how often."`
	App   string   `placeholder:"ID" help:"Annotations of this application only."`
	URL   string   `name:"url" placeholder:"URL" help:"The webhook that gets the changes. Without it the application reads them itself."`
	Since string   `placeholder:"POSITION" help:"Where to begin: the end of the change feed by default, or where the subscription is."`
}

func (c *subscriptionsPutCmd) Run(e *console.Env) error {
	names := c.ServerNames(e)
	pattern, err := names.Text().Pattern(c.Pattern)
	if err != nil {
		return names.Cause(console.Usagef("--pattern: %w", err))
	}
	o := client.SubscriptionOptions{Pattern: pattern, Kinds: c.Kinds, Application: c.App, URL: c.URL, Since: c.Since}
	if c.Order != "" || c.BoundsFlags != (target.BoundsFlags{}) {
		bounds, err := c.Bounds(c.Order, names)
		if err != nil {
			return err
		}
		o.Bounds = &bounds
	}
	return c.Request(e, func(to *client.Client) error {
		s, err := to.Subscriptions.Put(e.Ctx, c.Name, o)
		return console.Print(e, true, s, err, nil)
	})
}

type subscriptionsGetCmd struct {
	target.ServerFlags
	Name string `arg:"" help:"The name."`
}

func (c *subscriptionsGetCmd) Run(e *console.Env) error {
	return c.Request(e, func(to *client.Client) error {
		s, err := to.Subscriptions.Get(e.Ctx, c.Name)
		return console.Print(e, true, s, err, nil)
	})
}

type subscriptionsDeleteCmd struct {
	target.ServerFlags
	Name string `arg:"" help:"The name."`
}

func (c *subscriptionsDeleteCmd) Run(e *console.Env) error {
	return c.Request(e, func(to *client.Client) error { return to.Subscriptions.Delete(e.Ctx, c.Name) })
}
