package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/httpapi"
)

// serveCmd serves a store over HTTP until it is told to end.
type serveCmd struct {
	Data      string `required:"" placeholder:"DIR" help:"The data directory; made where it is absent."`
	Listen    string `default:"127.0.0.1:7333" placeholder:"ADDR" help:"Where to listen, ${default} by default; port 0 takes any free one. Other than loopback only with a token, or --insecure."`
	ReadOnly  bool   `help:"Take no changes."`
	TokenFile string `placeholder:"F" help:"File with the token that clients must send (Authorization: Bearer)."`
	Insecure  bool   `help:"Listen beyond loopback without a token: whoever reaches the port may read and change everything."`
	Verbose   bool   `short:"v" help:"Log every request."`
}

// drainTimeout bounds how long requests that run may take to end.
const drainTimeout = 20 * time.Second

func (c *serveCmd) Run(e *env) (err error) {
	token := ""
	if c.TokenFile != "" {
		if token, err = readToken(c.TokenFile); err != nil {
			return err
		}
	}
	if err := httpapi.CheckListen(c.Listen, token != "", c.Insecure); err != nil {
		return usageError{err}
	}
	level := slog.LevelInfo
	if c.Verbose {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
	store, err := node.Open(c.Data, node.Options{ReadOnly: c.ReadOnly, Logger: logger, Version: thisVersion().Version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	api, err := httpapi.New(httpapi.NodeStore(store), httpapi.Options{Token: token, ReadOnly: c.ReadOnly, Logger: logger})
	if err != nil {
		return err
	}
	server, err := httpapi.NewServer(api, httpapi.ServerOptions{Logger: logger})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(e.ctx, "tcp", c.Listen)
	if err != nil {
		return errors.Join(err, server.Shutdown(e.ctx))
	}
	e.sayf("serving %s at http://%s", c.Data, listener.Addr())
	return c.serve(e, server, listener, store)
}

// serve answers requests until a signal, or until the store fails for good.
func (c *serveCmd) serve(e *env, server *httpapi.Server, listener net.Listener, store *node.Store) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var why error
	select {
	case <-e.ctx.Done():
		e.sayf("ending: requests that run are finished, new ones are refused")
	case <-store.Failed():
		why = store.Err() // what the disk holds is known only when it is opened anew
	case why = <-served:
		served <- nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		e.sayf("requests that did not end within %s were cut off", drainTimeout)
		err = nil
	}
	if err := errors.Join(why, err, <-served); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	e.sayf("ended")
	return nil
}
