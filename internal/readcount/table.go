// Tables of counts.

package readcount

import (
	"strings"
	"time"
)

// Caller is the identity under which a client reads.
type Caller struct {
	Kind        string // anonymous, client, operator, application or user
	Application string // its ID or name, if Kind is application or user
}

// key identifies a count.
type key struct {
	caller  Caller
	pattern string // see Pattern.appendTo
}

func (k key) compare(other key) int {
	if c := strings.Compare(k.pattern, other.pattern); c != 0 {
		return c
	}
	if c := strings.Compare(k.caller.Kind, other.caller.Kind); c != 0 {
		return c
	}
	return strings.Compare(k.caller.Application, other.caller.Application)
}

// count is how often a caller has read a pattern.
type count struct {
	reads, rows int64
	first, last time.Time
}

// merge adds another count.
func (c *count) merge(other count) {
	if other.reads == 0 {
		return
	}
	if c.reads == 0 || other.first.Before(c.first) {
		c.first = other.first
	}
	if other.last.After(c.last) {
		c.last = other.last
	}
	c.reads, c.rows = c.reads+other.reads, c.rows+other.rows
}

// table holds counts. Without room a new key is refused.
type table map[key]*count

// add merges a count. ok is false if the table has already most keys and not this one.
func (t table) add(k key, c count, most int) (ok bool) {
	have := t[k]
	if have == nil {
		if len(t) >= most {
			return false
		}
		have = &count{}
		t[k] = have
	}
	have.merge(c)
	return true
}
