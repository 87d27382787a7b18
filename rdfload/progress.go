// The progress of a load.

package rdfload

import (
	"sync"
	"time"
)

// progressEvery is the interval between calls of Options.Progress.
const progressEvery = 250 * time.Millisecond

// stage is the current phase of a load and its progress. It is safe for concurrent use.
type stage struct {
	mu    sync.Mutex
	phase Phase
	total int64 // steps of the phase; 0 if unknown
	done  int64
}

// enter begins a phase of total steps.
func (s *stage) enter(phase Phase, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase, s.total, s.done = phase, total, 0
}

// step adds n finished steps.
func (s *stage) step(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += n
}

func (s *stage) get() (phase Phase, share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total > 0 {
		share = min(float64(s.done)/float64(s.total), 1)
	}
	return s.phase, share
}

// byteCounter returns how many stored bytes of an input have been read.
type byteCounter interface{ BytesIn() int64 }

// watchList adds up the stored bytes that have been read of all inputs. It is safe for concurrent
// use.
type watchList struct {
	mu       sync.Mutex
	open     map[int]byteCounter
	finished int64
}

func (w *watchList) add(source int, r byteCounter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = make(map[int]byteCounter)
	}
	w.open[source] = r
}

func (w *watchList) finish(source int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.open[source]; r != nil {
		w.finished += r.BytesIn()
		delete(w.open, source)
	}
}

// skip adds the bytes of an input that need not be opened, because it is in runs.
func (w *watchList) skip(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finished += bytes
}

func (w *watchList) bytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.finished
	for _, r := range w.open {
		n += r.BytesIn()
	}
	return n
}

// report calls Options.Progress at intervals until stop is called. stop waits for the goroutine,
// then calls Progress once more.
func (l *loader) report() (stop func()) {
	if l.opts.Progress == nil {
		return func() {}
	}
	// The total is unknown, 0, if the size of one source is.
	total := int64(0)
	for _, s := range l.sources {
		if s.Size < 0 {
			total = 0
			break
		}
		total += s.Size
	}
	// stop must wait for the goroutine, because Progress must not be called afterwards.
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(l.opts.limits.progress)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				l.opts.Progress(l.progress(total))
			}
		}
	})
	return func() {
		close(end)
		wg.Wait()
		l.opts.Progress(l.progress(total))
	}
}

func (l *loader) progress(total int64) Progress {
	p := Progress{Bytes: l.watched.bytes(), TotalBytes: total, Triples: l.read.Load(), Rejected: l.rejected.Load()}
	if p.Phase, p.Done = l.stage.get(); p.Phase == Reading && total > 0 {
		p.Done = min(float64(p.Bytes)/float64(total), 1)
	}
	return p
}
