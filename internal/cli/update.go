package cli

import (
	"crypto/tls"
	"errors"
	"io"
	"net/url"
	"syscall"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/sparql/parser"
)

// updateCmd carries out a SPARQL update: all of it or nothing.
type updateCmd struct {
	door
	sparqlText
	JSON         bool     `help:"Print JSON: {\"added\":n,\"deleted\":m}."`
	UpdateMemory byteSize `placeholder:"SIZE" help:"The most that the update may change at once; 256MiB by default. With --data."`
}

func (c *updateCmd) Run(e *env) error {
	text, name, err := c.read(e)
	if err != nil {
		return err
	}
	tree, err := parser.ParseUpdate(text, parser.Options{}) // so that a mistake is found before a store is opened
	if err != nil {
		err = shown(err, name, text)
		if _, e := parser.ParseQuery(text, parser.Options{}); e == nil {
			err = advised(err, "It is a query: trefoil query runs it.")
		}
		return err
	}
	send := text
	if len(c.Bind) > 0 {
		values, err := c.values()
		if err != nil {
			return err
		}
		if err := tree.Bind(values); err != nil {
			return usagef("--bind: %w", err)
		}
		send = tree.String()
	}
	result, err := c.update(e, send)
	if err != nil && mayBeDone(err) {
		return hinted{err, "The update may be done, in a cluster also a part of it: look at the data before you repeat it."}
	}
	if err != nil {
		return shown(err, name, text)
	}
	if c.JSON && result.Repeated {
		return e.printJSON(struct {
			Repeated bool `json:"repeated"`
		}{true})
	}
	if c.JSON {
		return e.printJSON(struct {
			Added     int64  `json:"added"`
			Deleted   int64  `json:"deleted"`
			Isolation string `json:"isolation"`
		}{result.Added, result.Deleted, result.Isolation})
	}
	if result.Repeated {
		e.sayf("done by an earlier try, whose answer was lost; how many triples were added and deleted is not known")
		return nil
	}
	e.sayf("added %s, deleted %s", plural(result.Added, "triple"), number(result.Deleted))
	if of := node.Isolation(result.Isolation); of == node.IsolationTriple {
		e.sayf("isolation: %s", of.Explain())
	}
	return nil
}

// update sends the update to a server, or does it in the directory.
func (c *updateCmd) update(e *env, text string) (result client.UpdateResult, err error) {
	local, err := c.local()
	if err != nil {
		return result, err
	}
	if !local {
		if c.UpdateMemory != 0 {
			return result, usagef("--update-memory goes with --data; a server has its own (trefoil serve)")
		}
		r, err := c.connect(e)
		if err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		return r.client.Update(e.ctx, text, client.UpdateOptions{Timeout: c.Timeout})
	}
	store, err := node.Open(c.Data, node.Options{Version: thisVersion().Version})
	if err != nil {
		return result, err
	}
	l, err := openEngine(c.Data, store, false, engine.Options{UpdateMemory: int64(c.UpdateMemory)})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	done, err := l.Update(e.ctx, text, engine.Params{Timeout: c.Timeout})
	return client.UpdateResult{Added: done.Added, Deleted: done.Deleted, Isolation: string(l.Isolation())}, err
}

// mayBeDone reports whether an update that failed may have been carried out.
func mayBeDone(err error) bool {
	var answered *client.Error
	var broken *url.Error
	switch {
	case errors.Is(err, client.ErrUnknownOutcome), errors.Is(err, node.ErrUnknown):
		return true
	case errors.As(err, &answered):
		return false
	}
	// Whether the node was reached is known only where nobody listened, or was trusted.
	var distrusted *tls.CertificateVerificationError
	never := errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &distrusted)
	return errors.As(err, &broken) && !never || errors.Is(err, io.ErrUnexpectedEOF)
}
