package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/bootclock"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/port"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
)

// Config is what a member is started with. Store and Listen must be set.
type Config struct {
	// Store is the machine's; it was opened with Options.Member and stays the
	// caller's to close, after the node.
	Store *node.Store
	// Listen is host:port of the one port; Advertise what others reach it at, ""
	// for what it listens on.
	Listen, Advertise string
	// Join are addresses of members. Where the directory belongs to no cluster yet,
	// the node joins theirs; otherwise they are where it looks for the others.
	Join []string
	// Closed refuses all connections between nodes: a node that anybody can reach, and
	// that cannot tell its own nodes from strangers, must not let them in. Start fails
	// if the directory is that of one of several members.
	Closed bool
	// Copies is how many machines hold each triple of a cluster that this node is the
	// first machine of; 0 is recovery.DefaultCopies. A cluster that exists keeps its
	// own number: see [Node.SetCopies].
	Copies int
	// Spare makes a joining machine one that holds nothing until another fails.
	Spare bool
	// Name is the cluster's, the same on all its machines; "" is "trefoil".
	Name string
	// TLS and Secret are what nodes know each other by; see package port.
	TLS    *port.TLS
	Secret []byte

	// Lease is how long a member may answer on the leader's word. A machine that
	// dies is excluded once its lease has surely run out. 0 is 2 s. No leader grants
	// longer ones than the members have agreed on: see [view.View].
	Lease time.Duration
	// Patience is how long the leader does without a report of a member before it
	// takes it for dead, whatever gossip says; 0 is 1.5 leases.
	Patience time.Duration
	// MaxSegmentBytes is the size beyond which a segment is split; 0 is 64 MiB.
	// Machines with little data split smaller ones, down to MinSegmentBytes; 0 is
	// 1 MiB.
	MaxSegmentBytes, MinSegmentBytes int64
	// LoadDir is a directory of the operating system for the sorted runs of bulk
	// loads that come through this node; "" is loads/ in the store's directory.
	LoadDir string
	// MoveRate bounds what a member sends of planned moves, in bytes a second; 0 is
	// 64 MiB. What fills up lost copies is not bounded.
	MoveRate int64
	// RebuildShare is the share of its time that a node gives to copies, lost or
	// moved, while it answers requests: above 0, up to 1; 0 is a tenth.
	RebuildShare float64
	// PurgeEvery is how long tombstones wait for the next purge where they are few; 0
	// is 10 minutes, less is never.
	PurgeEvery time.Duration
	// ScrubEvery is how long after a scrub the next one begins; 0 is a day, less is
	// never. ScrubRate bounds what a member reads for it, in bytes of rows a second; 0
	// is 8 MiB.
	ScrubEvery time.Duration
	ScrubRate  int64
	// MaxConnections bounds the connections of the port; 0 is 4,096.
	MaxConnections int

	// Network, FS and Clock are the machine's where they are nil.
	Network port.Network
	FS      vfs.FS
	Clock   Clock
	Logger  *slog.Logger

	maxRequests int   // tests have less
	noClock     error // why the machine's clock is not fit for leases
}

// DefaultName is the name of a cluster that was given none.
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

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
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
	if c.Lease < 0 || c.Patience < 0 || c.MaxSegmentBytes < 0 || c.MinSegmentBytes < 0 || c.MoveRate < 0 {
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
	if c.Name == "" {
		c.Name = DefaultName
	}
	if c.Lease == 0 {
		c.Lease = defaultLease
	}
	if c.Copies == 0 {
		c.Copies = recovery.DefaultCopies
	}
	if c.Patience == 0 {
		c.Patience = c.Lease * 3 / 2
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
	return c
}
