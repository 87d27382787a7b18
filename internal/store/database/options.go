// The options of the Pebble database.

package database

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/trefoildb/trefoil/internal/processors"
)

const (
	blockBytes  = 32 << 10
	lowestLevel = 6
	// Writes wait for compactions if level 0 has stopSublevels sublevels. From urgentSublevels on,
	// compactions do not wait for room above the watermark. From deepSublevels on, adds need room for
	// these compactions, so that only writes that may use the watermark's room make them urgent.
	stopSublevels   = 64
	urgentSublevels = stopSublevels - 4
	deepSublevels   = urgentSublevels / 2
	zstdFrom        = 5 // this level and the one below have zstd, because nearly all rows are there
)

// pebbleOptions returns Pebble's options.
func (d *Database) pebbleOptions() *pebble.Options {
	o := &pebble.Options{
		FS:                          newGuardedFS(d.FS, &d.health),
		ReadOnly:                    d.ReadOnly,
		CacheSize:                   d.options.CacheBytes,
		MemTableSize:                uint64(d.options.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       stopSublevels,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(2, processors.Count()/2) },
		MaxOpenFiles:                4096,
		// The format is fixed, because an older release could not open a newer one. Package synced
		// knows its logs.
		FormatMajorVersion: pebble.FormatValueSeparation,
		Logger:             pebbleLogger{d.Logger, &d.health},
		EventListener:      d.events(),
	}
	// Keys here are prefix, prefix, prefix. Row blocks store them in a third less space than
	// columnar ones, and scan and write faster (DESIGN.md of package store).
	o.Experimental.EnableColumnarBlocks = func() bool { return false }
	o.Experimental.CompactionScheduler = d.compactions
	for level := range o.TargetFileSizes {
		// Sizes must not double from level to level. Estimates use the statistics of tables, and
		// are better if a table mixes less.
		o.TargetFileSizes[level] = 8 << 20 << min(level, 1)
	}
	for level := range o.Levels {
		l := &o.Levels[level]
		l.BlockSize = blockBytes
		l.IndexBlockSize = 8 * blockBytes
		l.Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		if level >= zstdFrom {
			l.Compression = func() *sstable.CompressionProfile { return sstable.ZstdCompression }
		}
	}
	return o
}

// tableOptions returns the options of a table for ingestion. They are the options of the lowest
// level, because it goes there.
func (d *Database) tableOptions() sstable.WriterOptions {
	o := d.pebbleOptions()
	o.EnsureDefaults()
	return o.MakeWriterOptions(lowestLevel, d.TableFormat())
}

// events returns the handlers of Pebble's background events. They run under Pebble's locks, so
// they must not wait or call Pebble.
func (d *Database) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			held := errors.Is(err, errCompactionHeld)
			if held || pebble.IsCorruptionError(err) {
				d.compactions.failed()
			}
			if !held {
				d.health.backgroundError(err)
			}
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			// The default ends the process. Here the reader gets the error instead.
			d.Counts.Corruptions.Add(1)
			d.Logger.Error("a table is corrupt", "path", info.Path, "error", info.Details)
		},
		FlushEnd: func(info pebble.FlushInfo) {
			d.health.flushed(info.Err)
			if info.Err == nil {
				d.health.recovered()
				d.options.OnFlush()
			}
		},
		CompactionBegin: func(info pebble.CompactionInfo) { d.rewritten.Add(inputBytes(info)) },
		CompactionEnd: func(info pebble.CompactionInfo) {
			d.rewritten.Add(-inputBytes(info))
			if info.Err == nil {
				d.health.recovered()
			}
		},
		TableIngested: func(pebble.TableIngestInfo) { d.options.OnIngest() },
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			d.Counts.Stalls.Add(1)
			d.Logger.Warn("writes wait for flushes or compactions", "reason", info.Reason)
		},
	}
}

// inputBytes returns the size of the tables that a compaction reads to write them anew.
func inputBytes(info pebble.CompactionInfo) (bytes int64) {
	if info.Reason == "move" || info.Reason == "delete-only" {
		return 0 // these only change the list of tables
	}
	for _, level := range info.Input {
		for _, t := range level.Tables {
			bytes += int64(t.Size)
		}
	}
	return bytes
}

// pebbleLogger forwards Pebble's messages. Fatalf must return, although Pebble's own ends the
// process. The store rejects writes from then on, and waiting writes get the failure.
type pebbleLogger struct {
	log    *slog.Logger
	health *health
}

func (l pebbleLogger) Infof(format string, args ...any) {
	l.log.Debug(fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error(fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.health.fail(fmt.Errorf(format, args...))
}
