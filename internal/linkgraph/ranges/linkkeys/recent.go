// Recent: a cache of values that never change.

package linkkeys

import "sync"

// Recent is a cache in two generations: if the young one is full, it becomes the old one. Get
// and Put are safe for concurrent use.
type Recent[K comparable, V any] struct {
	Most int // keys of a generation

	Mu         sync.RWMutex
	Young, Old map[K]V
}

// Get returns the value of a key, if it is cached. An old entry becomes young.
func (r *Recent[K, V]) Get(k K) (v V, ok bool) {
	r.Mu.RLock()
	v, ok = r.Young[k]
	old := false
	if !ok {
		v, old = r.Old[k]
	}
	r.Mu.RUnlock()
	if old {
		r.Put(k, v)
	}
	return v, ok || old
}

// Put caches a value.
func (r *Recent[K, V]) Put(k K, v V) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Set(k, v)
}

// Set is Put for a caller that holds Mu.
func (r *Recent[K, V]) Set(k K, v V) {
	if r.Young == nil || len(r.Young) >= r.Most {
		r.Old, r.Young = r.Young, map[K]V{}
	}
	r.Young[k] = v
}
