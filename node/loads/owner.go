package loads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// This file is the owner's side: tables that others fill.

// incoming is a table of a load of which not all rows have come.
type incoming struct {
	load        string
	from        trie.MachineID
	incarnation uint64
	stream      uint64

	mu     sync.Mutex
	table  *node.StagedTable // nil once it is over
	next   uint64            // number of the message that comes next
	hash   *xxhash.Digest
	answer []byte // to the message before
	over   bool
}

// maxIncoming bounds the tables that are open at a time.
const maxIncoming = 512

// rowsMessage is the head of a message of rows.
type rowsMessage struct {
	load, place, name string
	prefix            byte
	stream, number    uint64
	last              bool
	hash              uint64
}

func parseRows(body []byte) (m rowsMessage, rows []byte, err error) {
	d := peer.NewDecoder(body)
	m = rowsMessage{load: d.String(), place: d.String(), name: d.String(), prefix: d.Byte(), stream: d.Uint64(), number: d.Uvarint(), last: d.Bool()}
	if m.last {
		m.hash = d.Uint64()
	}
	return m, d.Rest(), d.Err()
}

// handleRows takes the rows of one message.
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
	if node.IsDiskFull(err) {
		return []byte{statusFull}, nil
	}
	return answer, err
}

// staging returns a load for which tables are made; if there is none such, why.
func (l *Loads) staging(id string) (*view.Load, byte) {
	v := l.cluster.View()
	if v == nil || !v.Has(l.cluster.Self(), l.cluster.Incarnation()) {
		return nil, statusWait
	}
	load := v.Load(id)
	if load == nil {
		return nil, statusWait // this machine has not heard of it, or the other not that it is over
	}
	if load.Epoch != 0 {
		return nil, statusGone
	}
	return load, statusDone
}

// find returns the table that a message is for. Its first message begins it, in
// place of the one before.
func (l *Loads) find(m *rowsMessage, h peer.Header) (*incoming, byte, error) {
	key := m.load + "/" + m.place + "/" + m.name
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
	if in.table, err = l.store.StageTable(m.load, m.place, m.name, m.prefix); err != nil {
		in.over = true
		if node.IsDiskFull(err) {
			return nil, statusFull, nil
		}
		return nil, statusGone, err
	}
	return in, statusDone, nil
}

// take writes the rows of a message. The lock is held.
func (in *incoming) take(m *rowsMessage, number uint64, rows []byte) ([]byte, error) {
	if m.number+1 == in.next && in.answer != nil {
		return in.answer, nil // it came twice
	}
	if in.over || m.number != in.next {
		return []byte{statusGone}, nil
	}
	common := (&triple.Value{Stamp: node.LoadStamp(number)}).Append(nil)
	_, _ = in.hash.Write(rows) // never fails
	if err := unpack(rows, common, in.table.Set); err != nil {
		return nil, errors.Join(err, in.end())
	}
	in.next++
	if !m.last {
		in.answer = answerOf(statusDone, in.table.Bytes())
		return in.answer, nil
	}
	if in.hash.Sum64() != m.hash {
		return nil, errors.Join(fmt.Errorf("%w: the rows of table %s are not those that were sent", peer.ErrMessage, m.name), in.end())
	}
	file, err := in.table.Close()
	in.table, in.over = nil, true
	if err != nil {
		return nil, err
	}
	var e peer.Encoder
	e.Byte(statusDone)
	e.Uvarint(uint64(file.Bytes))
	e.Uvarint(uint64(file.Rows))
	e.Uvarint(uint64(file.New))
	e.Bool(file.Annotated)
	e.Uvarint(uint64(file.NewAnnotations))
	e.String(file.Name)
	in.answer = e.Data()
	return in.answer, nil
}

func answerOf(status byte, bytes uint64) []byte {
	var e peer.Encoder
	e.Byte(status)
	e.Uvarint(bytes)
	return e.Data()
}

// end gives the table up. The lock is held.
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

// abortStale gives up tables that nobody goes on with.
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

// handleSeal makes durable which tables are a load's on this machine.
func (l *Loads) handleSeal(_ context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var seal node.Seal
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
	err := l.store.Seal(seal)
	if errors.Is(err, node.ErrInvalid) {
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
