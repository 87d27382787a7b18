// The configuration of a member.

package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/bootclock"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/tracing"
	"github.com/trefoildb/trefoil/recovery"
)

// Config configures a member. Store and Listen must be set.
type Config struct {
	// Store is the machine's; it was opened with Options.Member and stays the
	// caller's to close, after the node.
	Store *replica.Store
	// Listen is host:port of the one port. Advertise is the address for others; "" is the address
	// of the listener.
	Listen, Advertise string
	// Join are addresses of members. If the directory belongs to no cluster yet, the node joins
	// theirs. Otherwise it looks for the others there.
	Join []string
	// Closed refuses all connections between nodes. It must be set if any host can reach the node
	// and nodes have no secret or certificate, because strangers must not get in. Start fails if
	// the directory is of one of several members.
	Closed bool
	// Copies is the number of machines for each triple if this node begins a cluster; 0 is
	// recovery.DefaultCopies. An existing cluster keeps its own number: see [Node.SetCopies].
	Copies int
	// Spare makes a joining machine a spare: it stores nothing until another machine fails.
	Spare bool
	// NoLinks announces that this machine keeps no graph of links. The others keep it then.
	NoLinks bool
	// Name is the cluster's, the same on all its machines; "" is "trefoil".
	Name string
	// TLS and Secret authenticate nodes to each other; see package port.
	TLS    *port.TLS
	Secret []byte

	// Lease is how long a member may answer without asking the leader again. A dead machine
	// is excluded when its lease is over for certain. 0 is 2 s. No leader grants longer ones
	// than the members have agreed on: see [view.View].
	Lease time.Duration
	// FailureTimeout is how long a member may send no report. After it the leader treats the
	// member as down, even if gossip sees it alive; 0 is 1.5 leases.
	FailureTimeout time.Duration
	// MaxSegmentBytes is the greatest size of a segment: a larger one is split; 0 is 64 MiB. If a
	// machine has little data, it splits smaller ones, down to MinSegmentBytes; 0 is 1 MiB.
	MaxSegmentBytes, MinSegmentBytes int64
	// ColumnMemory bounds the columns of the whole cluster that this member keeps for its queries, in bytes;
	// 0 is none.
	ColumnMemory int64
	// LoadDir is a directory of the operating system for sorted runs of bulk loads through this
	// node; "" is loads/ in the store's directory.
	LoadDir string
	// MoveRate bounds the planned moves of a member, in bytes a second; 0 is 64 MiB. Backfill of
	// lost copies is not bounded.
	MoveRate int64
	// RebuildShare is the share of a node's time for lost or moved copies while it answers
	// requests: above 0, up to 1; 0 is a tenth.
	RebuildShare float64
	// PurgeEvery is the interval of purges; 0 is 10 minutes, less is never. If tombstones are
	// many, a tenth of it is enough.
	PurgeEvery time.Duration
	// ScrubEvery is the time from the end of a scrub to the next one; 0 is a day, less is never.
	// ScrubRate bounds the reads of a member for it, in bytes of rows a second; 0 is 8 MiB.
	ScrubEvery time.Duration
	ScrubRate  int64
	// MaxConnections bounds the connections of the port; 0 is 4,096.
	MaxConnections int

	// SlowQuery is the time from which on the answer to a message for an HTTP request is slow, so that it is logged.
	// 0 or less is never.
	SlowQuery time.Duration
	// Tracer records the messages of traces; nil records nothing.
	Tracer *tracing.Tracer

	// Network, FS and Clock are the machine's if they are nil.
	Network port.Network
	FS      vfs.FS
	Clock   Clock
	Logger  *slog.Logger

	maxRequests int   // tests have less
	noClock     error // why the machine's clock is not fit for leases
}

// DefaultName is the name of a cluster if it is given none.
const DefaultName = "trefoil"

// Defaults of Config.
const (
	defaultLease          = 2 * time.Second
	defaultMaxSegment     = 64 << 20
	defaultMinSegment     = 1 << 20
	defaultMoveRate       = 64 << 20
	defaultRebuildShare   = 0.1
	defaultMaxConnections = 4096
	defaultPurgeEvery     = 10 * time.Minute
	defaultScrubEvery     = 24 * time.Hour
	defaultScrubRate      = 8 << 20
)

// Validate returns an error if the configuration is invalid.
func (c Config) Validate() error {
	// 1. Addresses.
	if c.Store == nil {
		return errors.New("cluster: no store")
	}
	if err := checkAddress("the address to listen on", c.Listen); err != nil {
		return err
	}
	if c.Advertise != "" {
		if err := checkAddress("the advertised address", c.Advertise); err != nil {
			return err
		}
	}
	for _, a := range c.Join {
		if err := checkAddress("an address to join", a); err != nil {
			return err
		}
	}
	// 2. Times, sizes and shares.
	if c.Lease < 0 || c.FailureTimeout < 0 || c.MaxSegmentBytes < 0 || c.MinSegmentBytes < 0 || c.MoveRate < 0 {
		return errors.New("cluster: a time or size is negative")
	}
	if !(c.RebuildShare >= 0 && c.RebuildShare <= 1) {
		return fmt.Errorf("cluster: the share of copies is above 0 and up to 1, not %g", c.RebuildShare)
	}
	if c.Copies != 0 {
		if err := view.CheckCopies(c.Copies); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	return nil
}

func checkAddress(what, address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("cluster: %s is not HOST:PORT: %w", what, err)
	}
	return nil
}

func (c Config) withDefaults() Config {
	// 1. Times, sizes and shares. The failure timeout depends on the lease.
	if c.Name == "" {
		c.Name = DefaultName
	}
	if c.Lease == 0 {
		c.Lease = defaultLease
	}
	if c.Copies == 0 {
		c.Copies = recovery.DefaultCopies
	}
	if c.FailureTimeout == 0 {
		c.FailureTimeout = c.Lease * 3 / 2
	}
	if c.MaxSegmentBytes == 0 {
		c.MaxSegmentBytes = defaultMaxSegment
	}
	if c.MinSegmentBytes == 0 {
		c.MinSegmentBytes = min(defaultMinSegment, c.MaxSegmentBytes)
	}
	if c.MoveRate == 0 {
		c.MoveRate = defaultMoveRate
	}
	if c.RebuildShare == 0 {
		c.RebuildShare = defaultRebuildShare
	}
	if c.PurgeEvery == 0 {
		c.PurgeEvery = defaultPurgeEvery
	}
	if c.ScrubEvery == 0 {
		c.ScrubEvery = defaultScrubEvery
	}
	if c.ScrubRate == 0 {
		c.ScrubRate = defaultScrubRate
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = defaultMaxConnections
	}
	if c.maxRequests == 0 {
		c.maxRequests = maxRequests
	}
	// 2. The machine. Its clock may be unfit for leases, and then this node must stay alone.
	if c.Network == nil {
		c.Network = port.Host
	}
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.Clock == nil {
		c.Clock, c.noClock = bootClock{}, bootclock.Supported()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = logs.WithRequests(c.Logger)
	return c
}

// Clock returns how much time has passed since some moment. It must be monotonic and go
// on while the machine is suspended: leases end in real time. See package bootclock.
type Clock interface {
	Now() time.Duration
}

// bootClock is the clock of the machine.
type bootClock struct{}

func (bootClock) Now() time.Duration { return bootclock.Now() }
