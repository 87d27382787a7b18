// Sending of rows to the table of another machine.

package loads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// remotePart is a part of another machine. While one message is on its way the next one is
// filled.
type remotePart struct {
	sink    *sink
	machine trie.MachineID
	message rowsMessage // the next one, without its rows
	packer  packer
	spare   []byte // the memory of the message before
	hash    *xxhash.Digest

	sent chan sent // holds the outcome of the message on its way, if there is one
	busy bool      // there is one
	size uint64    // of the file, by the last answer
	err  error
	stop context.CancelFunc
	ctx  context.Context
}

type sent struct {
	answer []byte
	body   []byte
	err    error
}

// messageBytes is about how long the rows of a message are; if there are many machines, they are
// shorter.
const (
	messageBytes    = 1 << 20
	minMessageBytes = 128 << 10
	memoryBytes     = 16 << 20 // of the messages that are filled for all machines
)

func newRemotePart(s *sink, machine trie.MachineID, name string, prefix byte) *remotePart {
	p := &remotePart{
		message: rowsMessage{load: s.id, place: s.tables, name: name, prefix: prefix, stream: rand.Uint64()},
		sink:    s, machine: machine, packer: packer{common: s.common},
		hash: xxhash.New(), sent: make(chan sent, 1),
	}
	p.ctx, p.stop = context.WithCancel(s.ctx)
	return p
}

func (s *sink) messageBytes() int {
	return min(max(memoryBytes/len(s.router.ring), minMessageBytes), messageBytes)
}

func (p *remotePart) add(key, value []byte) error {
	p.packer.add(key, value)
	if len(p.packer.rows) < p.sink.messageBytes() {
		return nil
	}
	return p.flush(false)
}

func (p *remotePart) bytes() uint64 { return p.size }

// flush sends the packed rows. It waits for the answer to the message before, but not for this
// one's.
func (p *remotePart) flush(last bool) error {
	if err := p.wait(); err != nil {
		return err
	}
	rows := p.packer.rows
	_, _ = p.hash.Write(rows) // never fails
	p.message.last, p.message.hash = last, p.hash.Sum64()
	body := append(append(p.spare[:0], peer.Encode(0, p.message.fields)...), rows...)
	p.message.number++
	p.packer.rows, p.packer.last = rows[:0], p.packer.last[:0]
	p.spare, p.busy = nil, true
	go func() {
		answer, err := p.sink.call(p.ctx, p.machine, methodRows, body)
		p.sent <- sent{answer, body, err}
	}()
	return nil
}

// wait waits for the answer to the message under way.
func (p *remotePart) wait() error {
	if !p.busy {
		return p.err
	}
	s := <-p.sent
	p.busy, p.spare = false, s.body
	if p.err = s.err; p.err != nil {
		return p.err
	}
	d := peer.NewDecoder(s.answer)
	d.Byte()
	p.size = d.Uvarint()
	p.err = d.Err()
	return p.err
}

func (p *remotePart) close() (file replica.StagedFile, err error) {
	defer p.stop()
	if err := p.flush(true); err != nil {
		return file, err
	}
	s := <-p.sent
	p.busy = false
	if s.err != nil {
		return file, s.err
	}
	err = peer.Decode(s.answer, codeFile(&file))
	return file, err
}

func (p *remotePart) abort() error {
	p.stop()
	if p.busy {
		<-p.sent
		p.busy = false
	}
	return nil
}

// Statuses of answers.
const (
	statusDone byte = iota
	statusGone      // what came before is not here: the table has to be made anew
	statusFull      // the disk is full
	statusWait      // not in this view: later, perhaps
)

const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// call sends a message to a machine until it is answered. If the tables are void, because data
// moves, it returns [rdfload.ErrMoved]. The message may arrive twice.
func (s *sink) call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if s.moved() {
			return nil, s.giveUp(errors.New("data moves"))
		}
		// 1. One try.
		v := s.loads.member.View()
		timed, cancel := context.WithTimeout(ctx, callTimeout)
		answer, err := s.loads.member.Call(timed, to, method, body)
		cancel()
		switch failed := (*peer.RemoteError)(nil); {
		case err == nil:
			status := peer.NewDecoder(answer).Byte()
			switch status {
			case statusDone:
				return answer, nil
			case statusGone:
				return nil, s.giveUp(fmt.Errorf("machine %s: %w", to, errGone))
			case statusFull:
				return nil, fmt.Errorf("machine %s: %w", to, store.ErrDiskFull)
			}
		case s.err() != nil:
			return nil, s.err()
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &failed):
			return nil, s.giveUp(fmt.Errorf("machine %s: %w", to, err))
		}
		// 2. The next view may be the reason of the failure, so it ends the pause.
		_ = s.loads.pause(ctx, v, pause, false) // without needsLeader it returns nil
	}
}

// callTimeout bounds one try to send a message: a machine may write for long.
const callTimeout = 30 * time.Second
