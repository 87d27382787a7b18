// Locks of pages: who changes a page's list keeps others from it.

package ranges

import (
	"context"
	"sync"
)

// locks are those of pages. The zero value is ready. They take memory only while somebody
// has them or waits for them.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

// lock is that of one page.
type lock struct {
	token chan struct{} // has room for one: who put it there has the lock
	users int           // who have it or wait for it, guarded by locks.mu
}

// take waits until nobody else has any of some pages, which are to ascend, and has them
// until release is called. The error is that of ctx.
//
// Everybody takes pages in the same order, so that nobody waits in a circle.
func (l *locks) take(ctx context.Context, pages []string) (release func(), err error) {
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
