// Tests of the shares of hosts: receivers that hang or are slow, beside others.

package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/webhook"
)

// slowHosts is a sender to hosts that need a time for each message, in virtual time. A host that needs
// a whole timeout fails.
type slowHosts struct {
	mu       sync.Mutex
	needs    map[string]time.Duration
	running  map[string]int
	most     map[string]int       // of running
	last     map[string]time.Time // of an accepted message, by URL
	accepted map[string]int       // messages, by URL
	rejected map[string]int       // messages, by host
}

const hangs = 10 * time.Second // the timeout of a try

func newSlowHosts() *slowHosts {
	return &slowHosts{needs: map[string]time.Duration{}, running: map[string]int{}, most: map[string]int{},
		last: map[string]time.Time{}, accepted: map[string]int{}, rejected: map[string]int{}}
}

func (h *slowHosts) set(host string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.needs[host] = d
}

func (h *slowHosts) Send(ctx context.Context, m *webhook.Message) error {
	host := hostOf(m.URL)
	h.mu.Lock()
	needs := h.needs[host]
	h.running[host]++
	h.most[host] = max(h.most[host], h.running[host])
	h.mu.Unlock()
	// No mutex is held while virtual time passes.
	select {
	case <-time.After(needs):
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[host]--
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if needs >= hangs {
		h.rejected[host]++
		return errors.New("the receiver did not answer")
	}
	h.accepted[m.URL]++
	h.last[m.URL] = time.Now()
	return nil
}

// of returns the number of accepted messages of a URL.
func (h *slowHosts) of(url string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.accepted[url]
}

// shareWorld is a world with hosts, each with some subscriptions of one predicate.
type shareWorld struct {
	*world
	hosts *slowHosts
	next  int
}

func (w *shareWorld) register(host string, needs time.Duration, subscriptions int) {
	w.t.Helper()
	w.hosts.set("https://"+host, needs)
	for i := range subscriptions {
		d := Definition{Name: fmt.Sprint(host, "-", i), Filter: map[string]string{"p": "p"}, URL: fmt.Sprint("https://", host, "/", i)}
		if _, err := w.registry.Put(w.t.Context(), Caller{}, d, ""); err != nil {
			w.t.Fatal(err)
		}
	}
}

// change makes a change and returns how long it takes until all subscriptions of some hosts have it.
func (w *shareWorld) change(hosts, subscriptions int) time.Duration {
	w.t.Helper()
	start := time.Now()
	before := map[string]int{}
	each := func(do func(url string) bool) bool {
		for h := range hosts {
			for i := range subscriptions {
				if !do(fmt.Sprint("https://good", h, "/", i)) {
					return false
				}
			}
		}
		return true
	}
	each(func(url string) bool { before[url] = w.hosts.of(url); return true })
	w.add(number("p", w.next))
	w.next++
	w.until("the change", func() bool { return each(func(url string) bool { return w.hosts.of(url) > before[url] }) })
	return time.Since(start)
}

// TestHangingHosts: four hosts with 40 subscriptions each hang from the beginning, 30 more hang later,
// others are slow. Good hosts get each change at once, and slow ones get theirs, too.
func TestHangingHosts(t *testing.T) {
	simulate(t, func(t *testing.T, base *world) {
		w := &shareWorld{world: base, hosts: newSlowHosts()}
		const good = 10
		for h := range good {
			w.register(fmt.Sprint("good", h), 10*time.Millisecond, 2)
		}
		for h := range 4 {
			w.register(fmt.Sprint("hangs", h), hangs, 40)
		}
		w.register("slow", 3*time.Second, 20)
		w.start(Options{Sender: w.hosts})
		mustBeSoon := func(what string, took time.Duration) {
			t.Helper()
			if took > time.Second {
				t.Errorf("%s: good hosts have a change after %s", what, took)
			}
		}
		// 1. The first tries, before a host is known to hang.
		mustBeSoon("first", w.change(good, 2))
		for range 20 {
			mustBeSoon("at once", w.change(good, 2))
			time.Sleep(3 * time.Second) // of virtual time
			mustBeSoon("later", w.change(good, 2))
		}
		// 2. More hosts hang than there are workers for their first tries. It takes one timeout to see that.
		for h := range 30 {
			w.register(fmt.Sprint("late", h), hangs, 30)
		}
		if took := w.change(good, 2); took > 4*hangs {
			t.Errorf("good hosts have a change after %s", took)
		}
		time.Sleep(time.Minute)
		for range 20 {
			mustBeSoon("among 34", w.change(good, 2))
			time.Sleep(3 * time.Second)
		}
		// 3. The slow host got its changes, too, and hosts that hang were tried.
		for i := range 20 {
			url := fmt.Sprint("https://slow/", i)
			w.until("the slow host "+url, func() bool { return w.hosts.of(url) > 0 })
		}
		w.hosts.mu.Lock()
		defer w.hosts.mu.Unlock()
		for host, n := range w.hosts.most {
			if n > 48/6+16/6 {
				t.Errorf("%s held %d workers", host, n)
			}
			if w.hosts.needs[host] == hangs && w.hosts.rejected[host] == 0 {
				t.Errorf("%s was never tried", host)
			}
		}
	})
}

// TestHostRecovers: the subscriptions of a host that hung are delivered when it answers again, and it
// gets fast workers again.
func TestHostRecovers(t *testing.T) {
	simulate(t, func(t *testing.T, base *world) {
		w := &shareWorld{world: base, hosts: newSlowHosts()}
		w.register("good0", hangs, 100)
		m := w.start(Options{Sender: w.hosts})
		w.add(number("p", -1))
		time.Sleep(time.Minute)
		w.hosts.set("https://good0", time.Millisecond)
		w.change(1, 100)
		w.change(1, 100) // the last of the tries that hung may end behind those of the first change
		w.until("the host is fast", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return !m.hosts["https://good0"].isSlow()
		})
		if took := w.change(1, 100); took > time.Second {
			t.Errorf("a change takes %s", took)
		}
		// Nothing is kept of a host without subscriptions.
		for i := range 100 {
			if err := w.registry.Delete(t.Context(), Caller{}, fmt.Sprint("good0-", i)); err != nil {
				t.Fatal(err)
			}
		}
		w.until("the host is forgotten", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.hosts) == 0
		})
	})
}
