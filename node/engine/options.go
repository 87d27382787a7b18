package engine

import (
	"fmt"
	"log/slog"
	"time"
)

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// QueryMemory is how many bytes the operators of one query may hold before they
	// spill to files; 0 is 256 MiB.
	QueryMemory int64
	// UpdateMemory bounds, in bytes, what one update may change; 0 is 256 MiB.
	UpdateMemory int64
	// Timeout bounds a query from its beginning to its last row, and an update; 0
	// is a minute, a negative value is no limit.
	Timeout time.Duration
	// MaxQueries is how many queries and updates run at a time; more wait for their
	// turn, within their timeout. 0 is 16.
	MaxQueries int
	// SpillDir is where temporary files are made; "" is the system's directory for
	// them.
	SpillDir string
	// UnionDefaultGraph makes the default graph of queries the merge of all graphs.
	UnionDefaultGraph bool
	// AllowHosts are the hosts that SERVICE and LOAD may ask: "host", "host:port" or
	// "*.domain". Where there is none, both are off.
	AllowHosts []string
	// Logger takes what goes wrong beside an answer; nil is nobody.
	Logger *slog.Logger
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if o.QueryMemory < 0 || o.UpdateMemory < 0 || o.MaxQueries < 0 {
		return fmt.Errorf("engine: a limit is negative: query memory %d, update memory %d, queries %d",
			o.QueryMemory, o.UpdateMemory, o.MaxQueries)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.QueryMemory == 0 {
		o.QueryMemory = 256 << 20
	}
	if o.UpdateMemory == 0 {
		o.UpdateMemory = 256 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.MaxQueries == 0 {
		o.MaxQueries = 16
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
