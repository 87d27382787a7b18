// Reading the log in bounded pages, for other machines.

package changefeed

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/triple"
)

// Page is consecutive changes.
type Page struct {
	Changes []feed.Change // the caller owns them
	Time    time.Time     // of the last commit
	// The next page begins at Position and Part. Part is 0 unless the page ends within a request:
	// then it is how many rows of the request have passed, Position is before the request, and the
	// page has no change of another one.
	Position feed.Position
	Part     uint32
	More     bool // there are more changes
}

// Page returns the changes behind a position and a part of the request there. It reads whole rows: at
// least one, and about maxBytes of them. A row has about 256 KiB. Changes take up to some times as
// much, because the keys in a row are shortened. Errors are as in [Feed.Changes].
func (f *Feed) Page(ctx context.Context, since feed.Position, part uint32, maxBytes int) (*Page, error) {
	p := &Page{}
	c := consumer{f: f, r: feed.Request{Since: since, MaxBytes: max(maxBytes, 1)}, sent: time.Now()}
	c.yield = func(b *feed.Batch, _ error) bool {
		for i := range b.Changes {
			p.Changes = append(p.Changes, b.Changes[i].Clone())
		}
		p.Time = b.Time
		return true
	}
	// 1. Find the row. The request is that of the first row behind the position.
	err := c.begin()
	if err == nil && part > 0 {
		err = c.seek(part)
	}
	// 2. Read some rows.
	if err == nil {
		var all bool
		all, err = c.read(ctx, c.until)
		p.More = !all
	}
	if err == nil {
		err = c.sendRows(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read the change feed: %w", err)
	}
	// 3. The position is before the request if its last row is not here. If others are complete, the
	// next page has it from its beginning.
	p.Position = f.position(c.done)
	if p.Part, err = c.part(); p.Part > 0 && c.complete > 0 {
		clear(p.Changes[c.complete:])
		p.Changes, p.Part = p.Changes[:c.complete], 0
	}
	return p, err
}

// seek moves to a row of the first request.
func (c *consumer) seek(part uint32) error {
	first := consumer{f: c.f, r: feed.Request{MaxBytes: 1}, next: c.next, done: c.done}
	if _, err := first.read(context.Background(), c.until); err != nil || len(first.ends) == 0 {
		return err
	}
	at, err := parseStampKey(logPrefix, first.rows[:first.ends[0]], 4)
	c.next = logKey(at, part)
	return err
}

// part returns how many rows have passed of the request that continues behind the last row; 0 if none
// does.
func (c *consumer) part() (uint32, error) {
	n := len(c.ends)
	if n == 0 {
		return 0, nil
	}
	begin := 0
	if n > 2 {
		begin = c.ends[n-3]
	}
	key, value := c.rows[begin:c.ends[n-2]], c.rows[c.ends[n-2]:]
	row, err := DecodeRow(value)
	if err != nil || !row.Continued {
		return 0, err
	}
	_, part, err := parseLogKey(key)
	return part + 1, err
}

// parseLogKey decodes the key of a row of the log.
func parseLogKey(key []byte) (at triple.Stamp, part uint32, err error) {
	if at, err = parseStampKey(logPrefix, key, 4); err == nil {
		for _, b := range key[len(key)-4:] {
			part = part<<8 | uint32(b)
		}
	}
	return at, part, err
}
