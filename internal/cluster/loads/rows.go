// Rows of a message as bytes; the package comment has the format.

package loads

import (
	"encoding/binary"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

// packer encodes the rows of messages.
type packer struct {
	rows   []byte
	last   []byte // the key before; empty at the start of a message
	common []byte
}

// add appends a row. Its key must be greater than the one before.
func (p *packer) add(key, value []byte) {
	shared := 0
	for n := min(len(key), len(p.last)); shared+8 <= n && binary.LittleEndian.Uint64(key[shared:]) == binary.LittleEndian.Uint64(p.last[shared:]); {
		shared += 8
	}
	for shared < len(key) && shared < len(p.last) && key[shared] == p.last[shared] {
		shared++
	}
	own := uint64(1)
	if string(value) == string(p.common) {
		own = 0
	}
	p.rows = binary.AppendUvarint(p.rows, uint64(shared)<<1|own)
	p.rows = binary.AppendUvarint(p.rows, uint64(len(key)-shared))
	p.rows = append(p.rows, key[shared:]...)
	if own == 1 {
		p.rows = binary.AppendUvarint(p.rows, uint64(len(value)))
		p.rows = append(p.rows, value...)
	}
	p.last = append(p.last[:shared], key[shared:]...)
}

// unpack calls each for the rows of a message. Both slices are valid until each returns.
func unpack(rows, common []byte, each func(key, value []byte) error) error {
	var key []byte
	bytesOf := func() ([]byte, bool) {
		n, size := binary.Uvarint(rows)
		if size <= 0 || n > uint64(len(rows)-size) {
			return nil, false
		}
		b := rows[size : size+int(n)]
		rows = rows[size+int(n):]
		return b, true
	}
	// A row is the length of the shared prefix, the rest of its key, and its value unless it is
	// the common one.
	for len(rows) > 0 {
		head, size := binary.Uvarint(rows)
		if size <= 0 || head>>1 > uint64(len(key)) {
			return fmt.Errorf("%w: rows of a load", peer.ErrMessage)
		}
		rows = rows[size:]
		rest, ok := bytesOf()
		if !ok {
			return fmt.Errorf("%w: rows of a load", peer.ErrMessage)
		}
		key = append(key[:head>>1], rest...)
		value := common
		if head&1 == 1 {
			if value, ok = bytesOf(); !ok {
				return fmt.Errorf("%w: rows of a load", peer.ErrMessage)
			}
		}
		if err := each(key, value); err != nil {
			return err
		}
	}
	return nil
}
