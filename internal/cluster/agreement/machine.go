// The replicated state: one view, and its encoding.

package agreement

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
)

// maxViewBytes bounds a view's JSON.
const maxViewBytes = 256 << 20

// codec turns views into bytes and back:
//
//	0x00                     no view, only in a snapshot
//	0x01 | zstd of its JSON
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

const (
	formatNone byte = iota
	formatZstdJSON
)

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxViewBytes))
	if err != nil {
		return nil, err
	}
	return &codec{enc, dec}, nil
}

func (c *codec) close() {
	c.dec.Close()
	_ = c.enc.Close() // nothing is buffered: only EncodeAll is used
}

func (c *codec) encode(v *view.View) ([]byte, error) {
	if v == nil {
		return []byte{formatNone}, nil
	}
	j, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("agreement: encode a view: %w", err)
	}
	if len(j) > maxViewBytes {
		return nil, fmt.Errorf("agreement: a view of %d bytes, more than %d", len(j), maxViewBytes)
	}
	return c.enc.EncodeAll(j, []byte{formatZstdJSON}), nil
}

func (c *codec) decode(b []byte) (*view.View, error) {
	if len(b) == 1 && b[0] == formatNone {
		return nil, nil
	}
	if len(b) == 0 || b[0] != formatZstdJSON {
		return nil, errors.New("agreement: decode a view: unknown format")
	}
	j, err := c.dec.DecodeAll(b[1:], nil)
	if err != nil {
		return nil, fmt.Errorf("agreement: decode a view: %w", err)
	}
	v := new(view.View)
	if err := json.Unmarshal(j, v); err != nil {
		return nil, fmt.Errorf("agreement: decode a view: %w", err)
	}
	return v, nil
}

// machine is the replicated state: the newest agreed view.
//
// Invariant: within a cluster and a generation, epochs grow by one and the lineage is the same.
type machine struct {
	codec *codec

	mu      sync.Mutex
	current *view.View
	applied uint64           // index of the last command
	pending []pending        // of the last WithoutMajority
	changed notify.Broadcast // current changes
}

var _ raft.FSM = (*machine)(nil)

func newMachine(c *codec) *machine { return &machine{codec: c} }

// Apply implements raft.FSM. The command is a whole view; the response is nil or
// an error.
func (m *machine) Apply(l *raft.Log) any {
	next, err := m.codec.decode(l.Data)
	if err != nil {
		return err
	}
	if next == nil {
		return ErrConflict
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applied = l.Index
	if err := follows(m.current, next); err != nil {
		return err
	}
	m.set(next)
	return nil
}

// follows returns an error if next must not come after current; current is nil if there is none.
func follows(current, next *view.View) error {
	switch {
	case current == nil:
		return nil
	case next.ClusterID != current.ClusterID || next.Cluster != current.Cluster || next.Lineage != current.Lineage:
		return fmt.Errorf("%w: it is of another cluster", ErrConflict)
	case next.Generation != current.Generation:
		return fmt.Errorf("%w: generation %d after %d", ErrConflict, next.Generation, current.Generation)
	case next.Epoch != current.Epoch+1:
		return fmt.Errorf("%w: epoch %d after %d", ErrConflict, next.Epoch, current.Epoch)
	}
	return nil
}

// set is called with mu held.
func (m *machine) set(v *view.View) {
	m.current = v
	m.changed.Send()
}

func (m *machine) view() *view.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// appliedView returns the view and the index of its command.
func (m *machine) appliedView() (applied uint64, v *view.View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.applied, m.current
}

// Snapshot implements raft.FSM. Views are immutable, so nothing is copied.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	return frozen{m.codec, m.view()}, nil
}

// Restore implements raft.FSM.
func (m *machine) Restore(r io.ReadCloser) error {
	b, err := io.ReadAll(io.LimitReader(r, maxSnapshotBytes))
	if err != nil {
		return fmt.Errorf("agreement: read a snapshot: %w", err)
	}
	v, err := m.codec.decode(b)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(v)
	return nil
}

// frozen is the state at the moment of a snapshot.
type frozen struct {
	codec *codec
	view  *view.View
}

func (f frozen) Persist(k raft.SnapshotSink) error {
	b, err := f.codec.encode(f.view)
	if err == nil {
		_, err = k.Write(b)
	}
	if err != nil {
		return errors.Join(err, k.Cancel())
	}
	return k.Close()
}

func (f frozen) Release() {}
