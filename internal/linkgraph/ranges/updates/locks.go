// Locks of pages: one call at a time changes the list of a page.

package updates

import (
	"context"
	"sync"
)

// locks are the locks of pages. The zero value is ready. They take memory only while a call
// holds them or waits for them.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

// lock is the lock of one page.
type lock struct {
	token chan struct{} // has room for one: a call that has put its token there holds the lock
	users int           // calls that hold it or wait for it, guarded by locks.mu
}

// take waits until no other call holds any of some pages. They must ascend. The caller holds
// them until it calls release. The error is that of ctx.
//
// Because all calls take pages in the same order, there is no deadlock.
func (l *locks) take(ctx context.Context, pages []string) (release func(), err error) {
	// 1. Register as a user of each lock, so that it stays in the map.
	all := make([]*lock, len(pages))
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	for i, page := range pages {
		if all[i] = l.held[page]; all[i] == nil {
			all[i] = &lock{token: make(chan struct{}, 1)}
			l.held[page] = all[i]
		}
		all[i].users++
	}
	l.mu.Unlock()
	taken := 0
	// release frees the taken locks, and deletes those without users.
	release = func() {
		for _, one := range all[:taken] {
			<-one.token
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, one := range all {
			if one.users--; one.users == 0 {
				delete(l.held, pages[i])
			}
		}
	}
	// 2. Take the locks in order. l.mu must not be held here, because this may wait.
	for _, one := range all {
		select {
		case one.token <- struct{}{}:
			taken++
		case <-ctx.Done():
			release()
			return nil, context.Cause(ctx)
		}
	}
	return release, nil
}
