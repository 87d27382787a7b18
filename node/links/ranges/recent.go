// What is remembered of things that never change.

package ranges

import "sync"

// recent remembers what belongs to keys, in two generations: when the younger one has
// had its share, it takes the place of the older one.
type recent[K comparable, V any] struct {
	most int // keys of a generation

	mu         sync.RWMutex
	young, old map[K]V
}

// get returns what belongs to a key, if it is remembered.
func (r *recent[K, V]) get(k K) (v V, ok bool) {
	r.mu.RLock()
	v, ok = r.young[k]
	old := false
	if !ok {
		v, old = r.old[k]
	}
	r.mu.RUnlock()
	if old {
		r.put(k, v)
	}
	return v, ok || old
}

// put remembers what belongs to a key.
func (r *recent[K, V]) put(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(k, v)
}

// set is put. The lock is held.
func (r *recent[K, V]) set(k K, v V) {
	if r.young == nil || len(r.young) >= r.most {
		r.old, r.young = r.young, map[K]V{}
	}
	r.young[k] = v
}
