// Snapshots of the view in the database.

package agreement

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
)

var _ raft.SnapshotStore = (*store)(nil)

const (
	chunkBytes      = 1 << 20
	retainSnapshots = 2
	// maxSnapshotBytes bounds a snapshot from elsewhere, because it must not fill the disk; a
	// view has a few MB at most.
	maxSnapshotBytes = 1 << 30
	snapshotIDBytes  = 24
)

func snapshotID(index, term, number uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, index)
	b = binary.BigEndian.AppendUint64(b, term)
	return binary.BigEndian.AppendUint64(b, number)
}

func prefixed(table byte, id []byte) []byte { return append([]byte{table}, id...) }

// snapshotIDs returns the IDs of the snapshots in a table, ascending.
func (s *store) snapshotIDs(table byte) (ids [][]byte, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{table}, UpperBound: []byte{table + 1}})
	if err != nil {
		return nil, err
	}
	for valid := it.First(); valid; {
		if len(it.Key()) < 1+snapshotIDBytes {
			return nil, errors.Join(fmt.Errorf("agreement: key %x names no snapshot", it.Key()), it.Close())
		}
		id := bytes.Clone(it.Key()[1 : 1+snapshotIDBytes])
		ids = append(ids, id)
		valid = it.SeekGE(successor(prefixed(table, id)))
	}
	return ids, errors.Join(it.Error(), it.Close())
}

// dropUnfinished deletes the chunks of unfinished snapshots.
func (s *store) dropUnfinished() error {
	ids, err := s.snapshotIDs(tableChunk)
	if err != nil {
		return err
	}
	for _, id := range ids {
		finished, err := s.get(prefixed(tableSnapshot, id), func([]byte) error { return nil })
		if err != nil {
			return err
		}
		if finished {
			continue
		}
		b := s.db.NewBatch()
		if err := deleteTable(b, prefixed(tableChunk, id)); err != nil {
			return errors.Join(err, b.Close())
		}
		if err := s.commit(b); err != nil {
			return err
		}
	}
	return nil
}

// List implements raft.SnapshotStore: the greatest index first.
func (s *store) List() ([]*raft.SnapshotMeta, error) {
	ids, err := s.snapshotIDs(tableSnapshot)
	if err != nil {
		return nil, err
	}
	var metas []*raft.SnapshotMeta
	for i := len(ids) - 1; i >= 0; i-- {
		m, err := s.meta(ids[i])
		if err != nil {
			return nil, err
		}
		metas = append(metas, m)
	}
	return metas, nil
}

func (s *store) meta(id []byte) (*raft.SnapshotMeta, error) {
	m := new(raft.SnapshotMeta)
	found, err := s.get(prefixed(tableSnapshot, id), func(v []byte) error { return json.Unmarshal(v, m) })
	if err == nil && !found {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, fmt.Errorf("agreement: snapshot %x: %w", id, err)
	}
	return m, nil
}

// Open implements raft.SnapshotStore.
func (s *store) Open(name string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	id, err := hex.DecodeString(name)
	if err != nil || len(id) != snapshotIDBytes {
		return nil, nil, fmt.Errorf("agreement: %q names no snapshot", name)
	}
	m, err := s.meta(id)
	if err != nil {
		return nil, nil, err
	}
	var contents []byte
	for n := uint32(0); int64(len(contents)) < m.Size; n++ {
		key := binary.BigEndian.AppendUint32(prefixed(tableChunk, id), n)
		found, err := s.get(key, func(v []byte) error {
			contents = append(contents, v...)
			return nil
		})
		if err == nil && !found {
			err = fmt.Errorf("it ends at %d of %d bytes", len(contents), m.Size)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("agreement: snapshot %s: %w", name, err)
		}
	}
	return m, io.NopCloser(bytes.NewReader(contents)), nil
}

// Create implements raft.SnapshotStore.
func (s *store) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if version != raft.SnapshotVersionMax {
		return nil, fmt.Errorf("agreement: snapshot version %d", version)
	}
	// The same state may come more than once: numbers tell the copies apart.
	ids, err := s.snapshotIDs(tableSnapshot)
	if err != nil {
		return nil, err
	}
	var number uint64
	for _, id := range ids {
		number = max(number, binary.BigEndian.Uint64(id[16:]))
	}
	id := snapshotID(index, term, number+1)
	return &sink{store: s, id: id, meta: raft.SnapshotMeta{
		Version: version, ID: hex.EncodeToString(id), Index: index, Term: term,
		Configuration: configuration, ConfigurationIndex: configurationIndex,
	}}, nil
}

// sink writes one snapshot. It exists from Close on.
type sink struct {
	store  *store
	id     []byte
	meta   raft.SnapshotMeta
	buf    []byte
	chunks uint32
	done   bool
}

func (k *sink) ID() string { return k.meta.ID }

func (k *sink) Write(p []byte) (int, error) {
	if k.meta.Size+int64(len(p)) > maxSnapshotBytes {
		return 0, fmt.Errorf("agreement: a snapshot has more than %d bytes", maxSnapshotBytes)
	}
	k.buf = append(k.buf, p...)
	k.meta.Size += int64(len(p))
	for len(k.buf) >= chunkBytes {
		if err := k.writeChunk(k.buf[:chunkBytes]); err != nil {
			return 0, err
		}
		k.buf = append(k.buf[:0], k.buf[chunkBytes:]...)
	}
	return len(p), nil
}

func (k *sink) writeChunk(p []byte) error {
	b := k.store.db.NewBatch()
	key := binary.BigEndian.AppendUint32(prefixed(tableChunk, k.id), k.chunks)
	if err := b.Set(key, p, nil); err != nil {
		return errors.Join(err, b.Close())
	}
	k.chunks++
	return k.store.commit(b)
}

// Close finishes the snapshot and deletes superfluous ones.
func (k *sink) Close() error {
	if k.done {
		return nil
	}
	k.done = true
	if len(k.buf) > 0 {
		if err := k.writeChunk(k.buf); err != nil {
			return err
		}
	}
	meta, err := json.Marshal(k.meta)
	if err != nil {
		return fmt.Errorf("agreement: snapshot: %w", err)
	}
	older, err := k.store.snapshotIDs(tableSnapshot)
	if err != nil {
		return err
	}
	b := k.store.db.NewBatch()
	for _, id := range older[:max(0, len(older)-retainSnapshots+1)] {
		err = errors.Join(err, deleteTable(b, prefixed(tableSnapshot, id)), deleteTable(b, prefixed(tableChunk, id)))
	}
	if err = errors.Join(err, b.Set(prefixed(tableSnapshot, k.id), meta, nil)); err != nil {
		return errors.Join(err, b.Close())
	}
	return k.store.commit(b)
}

// Cancel drops the written chunks.
func (k *sink) Cancel() error {
	if k.done {
		return nil
	}
	k.done = true
	b := k.store.db.NewBatch()
	if err := deleteTable(b, prefixed(tableChunk, k.id)); err != nil {
		return errors.Join(err, b.Close())
	}
	return k.store.commit(b)
}
