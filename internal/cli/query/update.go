// trefoil update: a SPARQL update on a server or a directory.

package query

import (
	"crypto/tls"
	"errors"
	"io"
	"net/url"
	"syscall"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql/parser"
)

// UpdateCmd makes a SPARQL update: all of it or nothing.
type UpdateCmd struct {
	target.StoreFlags
	target.DiskFlags
	sparqlText
	JSON         bool             `help:"Print JSON: {\"added\":n,\"deleted\":m}."`
	UpdateMemory console.ByteSize `placeholder:"SIZE" help:"Maximum that the update may change at once; 256MiB by default. With --data."`
}

func (c *UpdateCmd) Run(e *console.Env) error {
	// 1. Parse the text here, because a mistake then costs no request.
	text, name, err := c.read(e)
	if err != nil {
		return err
	}
	names := c.Names(e)
	tree, err := parser.ParseUpdate(text, parser.Options{Undeclared: names.Lookup})
	if err != nil {
		if names.Err != nil {
			return names.Err
		}
		err = shown(err, name, text)
		// Users often mix up the two commands, so try the text as a query.
		if _, e := parser.ParseQuery(text, parser.Options{}); e == nil {
			err = advised(err, "It is a query: trefoil query runs it.")
		}
		return err
	}
	// 2. Replace the variables that --bind sets, and run it.
	send := names.Declared(text)
	if len(c.Bind) > 0 {
		values, err := c.values(names)
		if err != nil {
			return err
		}
		if err := tree.Bind(values); err != nil {
			return console.Usagef("--bind: %w", err)
		}
		send = tree.String()
	}
	result, err := c.update(e, send)
	// The error came after the update was sent, so its outcome is unknown.
	if err != nil && mayBeDone(err) {
		return console.WithHint(err, "The update may be done, in a cluster also a part of it: look at the data before you repeat it.")
	}
	if err != nil {
		return shown(err, name, text)
	}
	// 3. Print the result. A repeated update has no counts.
	if c.JSON && result.Repeated {
		return e.PrintJSON(map[string]bool{"repeated": true})
	}
	if c.JSON {
		return e.PrintJSON(map[string]any{"added": result.Added, "deleted": result.Deleted, "isolation": result.Isolation})
	}
	if result.Repeated {
		e.Sayf("done by an earlier try, whose answer was lost; how many triples were added and deleted is not known")
		return nil
	}
	e.Sayf("added %s, deleted %s", console.Plural(result.Added, "triple"), console.Number(result.Deleted))
	// A cluster commits triple by triple, so others may see a part of the update.
	if of := store.Isolation(result.Isolation); of == store.IsolationTriple {
		e.Sayf("isolation: %s", of.Explain())
	}
	return nil
}

// update makes the update on the server or in the directory.
func (c *UpdateCmd) update(e *console.Env, text string) (result client.UpdateResult, err error) {
	if local, err := c.Local(); err == nil && !local && c.UpdateMemory != 0 {
		return result, console.Usagef("--update-memory goes with --data; a server has its own (trefoil serve)")
	}
	how := c.Changing()
	how.UpdateMemory = int64(c.UpdateMemory)
	err = c.With(e, how, func(s target.Store) error {
		result, err = s.Update(e.Ctx, text, client.QueryOptions{Timeout: c.Timeout})
		return err
	})
	return result, err
}

// mayBeDone reports whether an update that failed may have been made.
func mayBeDone(err error) bool {
	var answered *client.Error
	var broken *url.Error
	switch {
	case errors.Is(err, client.ErrUnknownOutcome), errors.Is(err, store.ErrUnknown):
		return true
	case errors.As(err, &answered):
		return false
	}
	// The node surely did not get it only if no process listened or it was not trusted.
	var distrusted *tls.CertificateVerificationError
	never := errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &distrusted)
	return errors.As(err, &broken) && !never || errors.Is(err, io.ErrUnexpectedEOF)
}
