// The owner: its tables, filled by a coordinator on another machine.

package loads

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// incoming is a table of a load while its rows are coming.
type incoming struct {
	load        string
	from        trie.MachineID
	incarnation uint64
	stream      uint64

	mu     sync.Mutex
	table  *replica.StagedTable // nil when it is complete or dropped
	next   uint64               // number of the next message
	hash   *xxhash.Digest
	answer []byte // to the last message, which may come again
	over   bool
}

// maxIncoming bounds the tables open at a time.
const maxIncoming = 512

// rowsMessage is the head of a message of rows.
type rowsMessage struct {
	load, place, name string
	prefix            byte
	stream, number    uint64
	last              bool
	hash              uint64
}

func (m *rowsMessage) fields(c *peer.Coder) {
	c.String(&m.load, &m.place, &m.name)
	peer.Byte(c, &m.prefix)
	peer.Uint64(c, &m.stream)
	c.Uvarint(&m.number)
	if c.Bool(&m.last); m.last {
		peer.Uint64(c, &m.hash)
	}
}

func parseRows(body []byte) (m rowsMessage, rows []byte, err error) {
	d := peer.NewDecoder(body)
	m.fields(d.Coder())
	return m, d.Rest(), d.Err()
}

// handleRows answers loads/rows.
func (l *Loads) handleRows(_ context.Context, h peer.Header, body []byte) ([]byte, error) {
	m, rows, err := parseRows(body)
	if err != nil {
		return nil, err
	}
	load, status := l.staging(m.load)
	if load == nil {
		return []byte{status}, nil
	}
	in, status, err := l.find(&m, h)
	if err != nil || in == nil {
		return []byte{status}, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	answer, err := in.take(&m, load.Number, rows)
	if fault.IsDiskFull(err) {
		return []byte{statusFull}, nil
	}
	return answer, err
}

// staging returns a load if it is being staged. Otherwise it returns nil and a status.
func (l *Loads) staging(id string) (*view.Load, byte) {
	v := l.member.View()
	if !l.self.IsMember(v) {
		return nil, statusWait
	}
	load := v.Load(id)
	if load == nil {
		return nil, statusWait // one of the two machines lacks the newest view
	}
	if load.Epoch != 0 {
		return nil, statusGone
	}
	return load, statusDone
}

// find returns the table of a message. The first message begins the table, and replaces one of the
// same name.
func (l *Loads) find(m *rowsMessage, h peer.Header) (*incoming, byte, error) {
	key := m.load + "/" + m.place + "/" + m.name
	// 1. The table may be open already. Only message 0 may begin one.
	l.mu.Lock()
	in := l.incoming[key]
	switch {
	case l.closed:
		l.mu.Unlock()
		return nil, statusWait, nil
	case in != nil && in.stream == m.stream:
		l.mu.Unlock()
		return in, statusDone, nil
	case m.number != 0:
		l.mu.Unlock()
		return nil, statusGone, nil
	case in == nil && len(l.incoming) >= maxIncoming:
		l.mu.Unlock()
		return nil, statusWait, nil
	}
	// 2. Begin it. Its lock is taken before it is visible, because its messages must wait.
	before := in
	in = &incoming{load: m.load, from: h.From, incarnation: h.Incarnation, stream: m.stream, hash: xxhash.New()}
	in.mu.Lock()
	defer in.mu.Unlock()
	l.incoming[key] = in
	l.mu.Unlock()
	if before != nil {
		before.abort()
	}
	var err error
	if in.table, err = l.store.Staging().Table(m.load, m.place, m.name, m.prefix); err != nil {
		in.over = true
		if fault.IsDiskFull(err) {
			return nil, statusFull, nil
		}
		return nil, statusGone, err
	}
	return in, statusDone, nil
}

// take writes the rows of a message. The caller holds the lock of the table.
func (in *incoming) take(m *rowsMessage, number uint64, rows []byte) ([]byte, error) {
	// 1. A message may come twice, because its answer was lost.
	if m.number+1 == in.next && in.answer != nil {
		return in.answer, nil
	}
	if in.over || m.number != in.next {
		return []byte{statusGone}, nil
	}
	common := (&triple.Value{Stamp: replica.LoadStamp(number)}).Append(nil)
	_, _ = in.hash.Write(rows) // never fails
	if err := unpack(rows, common, in.table.Set); err != nil {
		return nil, errors.Join(err, in.end())
	}
	in.next++
	if !m.last {
		in.answer = binary.AppendUvarint([]byte{statusDone}, in.table.Bytes())
		return in.answer, nil
	}
	// 2. After the last message: check the hash of all rows, and make the file durable.
	if in.hash.Sum64() != m.hash {
		return nil, errors.Join(fmt.Errorf("%w: the rows of table %s are not those that were sent", peer.ErrMessage, m.name), in.end())
	}
	file, err := in.table.Close()
	in.table, in.over = nil, true
	if err != nil {
		return nil, err
	}
	in.answer = peer.Encode(0, codeFile(&file))
	return in.answer, nil
}

// codeFile codes the answer to the last message of a table. The answer to another one ends behind
// the bytes written so far.
func codeFile(f *replica.StagedFile) func(*peer.Coder) {
	return func(c *peer.Coder) {
		status := statusDone
		peer.Byte(c, &status)
		for _, n := range []*int64{&f.Bytes, &f.Rows, &f.New} {
			peer.Number(c, n, math.MaxInt64)
		}
		c.Bool(&f.Annotated)
		peer.Number(c, &f.NewAnnotations, math.MaxInt64)
		c.String(&f.Name)
	}
}

// end drops the table. The caller holds its lock.
func (in *incoming) end() error {
	in.over, in.answer = true, nil
	if in.table == nil {
		return nil
	}
	err := in.table.Abort()
	in.table = nil
	return err
}

func (in *incoming) abort() {
	in.mu.Lock()
	defer in.mu.Unlock()
	_ = in.end() // what is left of it is removed with the load
}

// abortStale drops a table if its load is over or its coordinator has left.
func (l *Loads) abortStale(v *view.View) {
	var stale []*incoming
	l.mu.Lock()
	for key, in := range l.incoming {
		if load := v.Load(in.load); load == nil || load.Epoch != 0 || !v.Has(in.from, in.incarnation) {
			stale = append(stale, in)
			delete(l.incoming, key)
		}
	}
	l.mu.Unlock()
	for _, in := range stale {
		in.abort()
	}
}

// handleSeal answers loads/seal: it records durably the tables of a load on this machine.
func (l *Loads) handleSeal(_ context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var seal replica.Seal
	if err := json.Unmarshal(body, &seal); err != nil {
		return nil, err
	}
	load, status := l.staging(seal.Load)
	if load == nil {
		return []byte{status}, nil
	}
	if seal.Number != load.Number {
		return nil, fmt.Errorf("%w: load %s has number %d, not %d", peer.ErrMessage, seal.Load, load.Number, seal.Number)
	}
	l.forget(seal.Load)
	err := l.store.Staging().Seal(seal)
	if errors.Is(err, store.ErrInvalid) {
		return []byte{statusGone}, nil
	}
	return []byte{statusDone}, err
}

// forget gives up the open tables of a load.
func (l *Loads) forget(id string) {
	var open []*incoming
	l.mu.Lock()
	for key, in := range l.incoming {
		if in.load == id {
			open = append(open, in)
			delete(l.incoming, key)
		}
	}
	l.mu.Unlock()
	for _, in := range open {
		in.abort()
	}
}
