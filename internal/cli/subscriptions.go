// trefoil subscriptions: the subscriptions of a server.

package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/trefoildb/trefoil/client"
)

// subscriptionsCmd shows and changes subscriptions.
type subscriptionsCmd struct {
	List   subscriptionsListCmd   `cmd:"" help:"List the subscriptions with their counts."`
	Put    subscriptionsPutCmd    `cmd:"" help:"Register for changes, or change a registration."`
	Get    subscriptionsGetCmd    `cmd:"" help:"Show one subscription as JSON: its position, the last error, dead letters."`
	Delete subscriptionsDeleteCmd `cmd:"" help:"Delete a subscription."`
}

type subscriptionsListCmd struct {
	serverFlags
	JSON bool `help:"Print JSON."`
}

func (c *subscriptionsListCmd) Run(e *env) error {
	return c.request(e, func(to *client.Client) error {
		list, err := to.Subscriptions.List(e.ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return e.printJSON(list)
		}
		w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
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
	})
}

type subscriptionsPutCmd struct {
	serverFlags
	Name    string `arg:"" help:"The name: letters, digits, '-' and '_'."`
	Pattern string `placeholder:"PATTERN" help:"The changed triples: '? <http://example.org/likes> ?'. All by default."`
	Order   string `help:"The order of a range, if the flags below give one: spo, pos, osp or gspo."`
	boundsFlags
	Kinds []string `placeholder:"KINDS" help:"add, delete, annotate, load, clear: all by default. And read: which patterns clients read, how often."`
	App   string   `placeholder:"ID" help:"Annotations of this application only."`
	URL   string   `name:"url" placeholder:"URL" help:"The webhook that gets the changes. Without it the application reads them itself."`
	Since string   `placeholder:"POSITION" help:"Where to begin: the end of the change feed by default, or where the subscription is."`
}

func (c *subscriptionsPutCmd) Run(e *env) error {
	names := c.serverNames(e)
	pattern, err := names.text().Pattern(c.Pattern)
	if err != nil {
		return names.cause(usagef("--pattern: %w", err))
	}
	o := client.SubscriptionOptions{Pattern: pattern, Kinds: c.Kinds, Application: c.App, URL: c.URL, Since: c.Since}
	if c.Order != "" || c.boundsFlags != (boundsFlags{}) {
		bounds, err := c.bounds(c.Order, names)
		if err != nil {
			return err
		}
		o.Bounds = &bounds
	}
	return c.request(e, func(to *client.Client) error {
		s, err := to.Subscriptions.Put(e.ctx, c.Name, o)
		if err != nil {
			return err
		}
		return e.printJSON(s)
	})
}

type subscriptionsGetCmd struct {
	serverFlags
	Name string `arg:"" help:"The name."`
}

func (c *subscriptionsGetCmd) Run(e *env) error {
	return c.request(e, func(to *client.Client) error {
		s, err := to.Subscriptions.Get(e.ctx, c.Name)
		if err != nil {
			return err
		}
		return e.printJSON(s)
	})
}

type subscriptionsDeleteCmd struct {
	serverFlags
	Name string `arg:"" help:"The name."`
}

func (c *subscriptionsDeleteCmd) Run(e *env) error {
	return c.request(e, func(to *client.Client) error { return to.Subscriptions.Delete(e.ctx, c.Name) })
}
