// Where a restore ends.

package backup

import (
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// Until is where a restore ends: at a position or at a time. The zero Until is the end of the chain.
type Until struct {
	Position feed.Position
	Time     time.Time // of commits, by the clocks of the machines that made them
}

// ErrUntil means that a chain cannot be restored to a point.
var ErrUntil = errors.New("the chain cannot be restored to this point")

// timeForms are the accepted forms of a time. Those without a zone are UTC.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"}

// ParseUntil parses a position of the feed or a time.
func ParseUntil(text string) (Until, error) {
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return Until{Time: t}, nil
		}
	}
	p, err := feed.ParsePosition(text)
	if err != nil || p.IsZero() {
		return Until{}, fmt.Errorf("%q is neither a time like 2026-11-23T18:30:00Z nor a position of the feed", text)
	}
	return Until{Position: p}, nil
}

// String returns the text for ParseUntil; "" is the end.
func (u Until) String() string {
	switch {
	case !u.Time.IsZero():
		return u.Time.UTC().Format(time.RFC3339Nano)
	case !u.Position.IsZero():
		return u.Position.String()
	}
	return ""
}

// isEnd reports whether u is the end of the chain.
func (u Until) isEnd() bool { return u.Time.IsZero() && u.Position.IsZero() }

// has reports whether a change lies before u.
func (u Until) has(c *feed.Change, at moment) (bool, error) {
	switch {
	case !u.Time.IsZero():
		return !at.time.After(u.Time), nil
	case u.Position.IsZero():
		return true, nil
	case c.Kind != feed.Load:
		return u.Position.Covers(c.Sequencer, c.Stamp), nil
	}
	p, err := feed.ParsePosition(at.position)
	if err != nil {
		return false, fault.Backup("the position of load %s: %w", c.Load.ID, err)
	}
	return covers(u.Position, p), nil
}

// checkFull returns an error if a full archive ends behind u, because its state has later changes.
func (u Until) checkFull(full Info) error {
	switch {
	case !u.Position.IsZero() && full.End.Source != u.Position.Source:
		return fmt.Errorf("%w: the position is of another store", ErrUntil)
	case !u.Position.IsZero() && !covers(u.Position, full.End):
		return fmt.Errorf("%w: the full backup ends behind it, at position %s", ErrUntil, full.End)
	case !u.Time.IsZero() && !u.Time.After(full.Ended):
		return fmt.Errorf("%w: the full backup ends after it, at %s", ErrUntil, full.Ended.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// covers reports whether an archive has all changes up to u. Then later archives are not needed.
func (u Until) covers(a Info) bool {
	switch {
	case !u.Position.IsZero():
		return covers(a.End, u.Position)
	case !u.Time.IsZero():
		return u.Time.Before(a.Complete)
	}
	return false
}
