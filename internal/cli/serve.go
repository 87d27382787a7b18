package cli

import "errors"

type serveCmd struct{}

func (c *serveCmd) Run(e *env) error { return errors.ErrUnsupported }
