// Appending changes to the log in commits.

package changefeed

import (
	"encoding/binary"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/triple"
)

// rowBytes is the size above which the changes of a commit go on in another row.
const rowBytes = 256 << 10

// Commit collects the changes of one commit. It writes rows into the batch as they fill, so it holds
// at most one. Stamps must not descend, and must be greater than those of earlier commits.
type Commit struct {
	f     *Feed
	batch *pebble.Batch
	at    time.Time
	last  triple.Stamp // of the last change
	part  uint32       // number of the next row at position last
	bytes int64        // of the rows in the batch
}

// Begin begins the log's part of a commit.
func (f *Feed) Begin(batch *pebble.Batch) Commit {
	c := Commit{f: f, batch: batch, at: f.now()}
	f.encoder.Begin(c.at)
	f.encoder.SetDepth(0)
	return c
}

// SetDepth sets the depth of the next changes, see [feed.Change].
func (c *Commit) SetDepth(depth uint8) { c.f.encoder.SetDepth(depth) }

// Bytes returns how many bytes of the batch are rows of the log.
func (c *Commit) Bytes() int64 { return c.bytes }

// prepare begins the next row if the current one is full. Then the encoder takes a change of stamp.
func (c *Commit) prepare(stamp triple.Stamp) error {
	e := &c.f.encoder
	if e.changes > 0 && len(e.buf) >= rowBytes {
		if err := c.flush(stamp == c.last); err != nil {
			return err
		}
		e.Begin(c.at)
	}
	if stamp != c.last {
		c.last, c.part = stamp, 0
	}
	return nil
}

// flush writes the current row into the batch.
func (c *Commit) flush(continued bool) error {
	key, value := logKey(c.last, c.part), c.f.encoder.Bytes(continued)
	c.part++
	c.bytes += int64(len(key) + len(value))
	return c.batch.Set(key, value, nil)
}

// Triple appends an Add or a Delete of a triple with these Pebble keys. long is nil or a value with
// stamp 0.
func (c *Commit) Triple(kind feed.Kind, stamp triple.Stamp, spo, pos, long []byte) error {
	if err := c.prepare(stamp); err != nil {
		return err
	}
	c.touch(stamp, pos)
	c.f.encoder.Triple(kind, stamp.Sequence, spo[1:], long)
	return nil
}

// Annotate appends an Annotate of a triple with these Pebble keys.
func (c *Commit) Annotate(stamp triple.Stamp, spo, pos, long []byte, a feed.Annotation) error {
	if err := c.prepare(stamp); err != nil {
		return err
	}
	c.touch(stamp, pos)
	c.f.encoder.Annotate(stamp.Sequence, spo[1:], long, a)
	return nil
}

func (c *Commit) touch(stamp triple.Stamp, pos []byte) {
	if c.f.watches(pos) {
		c.f.recent.touched(pos[1:], stamp.Sequence)
	}
}

// Clear appends a Clear.
func (c *Commit) Clear(stamp triple.Stamp, info feed.ClearInfo) error {
	if err := c.prepare(stamp); err != nil {
		return err
	}
	c.f.recent.forget(stamp.Sequence)
	c.f.encoder.Clear(stamp.Sequence, info)
	return nil
}

// Finish writes the last row, and trims the log. done must be called when the batch is committed.
func (c *Commit) Finish() (done func(), err error) {
	f := c.f
	if f.encoder.changes == 0 {
		return func() {}, nil
	}
	if err := c.flush(false); err != nil {
		return nil, err
	}
	// 1. The row belongs to the newest block, or closes it and begins another one.
	blocks, newest := f.blocks, f.newest
	if newest.bytes > 0 && f.retention.full(&newest) {
		value := binary.AppendUvarint(nil, uint64(newest.bytes))
		value = binary.AppendUvarint(value, uint64(newest.ends.UnixMilli()))
		if err := c.batch.Set(stampKey(blockPrefix, newest.last), value, nil); err != nil {
			return nil, err
		}
		blocks, newest = append(blocks, newest), block{}
	}
	newest.add(c.last, c.bytes, c.at)
	// 2. Trim the blocks before it.
	n, size, why := f.retention.trim(blocks, f.size+c.bytes, c.at)
	trimmed := f.trimmed
	if n > 0 {
		trimmed = blocks[n-1].last
		if err := c.trim(blocks[:n], why); err != nil {
			return nil, err
		}
	}
	return func() {
		f.blocks, f.newest, f.trimmed = blocks[n:], newest, trimmed
		f.moved(c.last, size, c.bytes)
	}, nil
}

// Trim deletes what is too old from the log of a store that is not written. The caller must hold the
// lock of commits. It is not durable by itself: after a crash the changes may be back.
func (f *Feed) Trim() error {
	// 1. The newest block may go, too, because no commit follows that would close it.
	now, blocks, newest := f.now(), f.blocks, f.newest
	if newest.bytes > 0 && now.Sub(newest.ends) > f.retention.Age {
		blocks, newest = append(blocks, newest), block{}
	}
	n, size, why := f.retention.trim(blocks, f.size, now)
	if n == 0 {
		return nil
	}
	// 2. Delete the blocks.
	batch := f.db.NewBatch()
	defer batch.Close()
	c := Commit{f: f, batch: batch}
	if err := c.trim(blocks[:n], why); err != nil {
		return err
	}
	if err := f.db.Commit(batch, false); err != nil {
		return err
	}
	f.blocks, f.newest, f.trimmed = blocks[n:], newest, blocks[n-1].last
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size = size
	return nil
}

// trim deletes blocks.
func (c *Commit) trim(blocks []block, why reason) error {
	last := blocks[len(blocks)-1]
	begin := mark{last.last, last.ends, why}
	if err := c.batch.DeleteRange(logKey(nextStamp(c.f.trimmed), 0), logKey(nextStamp(begin.Stamp), 0), nil); err != nil {
		return err
	}
	for _, b := range blocks {
		if err := c.batch.Delete(stampKey(blockPrefix, b.last), nil); err != nil {
			return err
		}
	}
	if err := c.batch.Set(rowBegin, begin.append(nil), nil); err != nil {
		return err
	}
	// Consumers must see the new begin before rows are missing. If the commit fails, they get a
	// GoneError too early, which is safe.
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.begin = begin
	return nil
}

// Load returns the row of a published load at a position, to be ingested with its rows. done must
// be called when it is in the database.
func (f *Feed) Load(at, rows triple.Stamp, info feed.LoadInfo) (key, value []byte, done func()) {
	now := f.now()
	f.encoder.Begin(now)
	f.encoder.SetDepth(0)
	f.encoder.Load(at.Sequence, rows, info)
	key, value = logKey(at, 0), append([]byte{}, f.encoder.Bytes(false)...)
	f.recent.forget(at.Sequence)
	return key, value, func() {
		bytes := int64(len(key) + len(value))
		f.newest.add(at, bytes, now)
		f.moved(at, f.size+bytes, bytes)
	}
}
