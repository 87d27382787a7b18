// How much room the disk has for writes.

package store

// Room is the kind of client writes that a disk has room for. Machines send it to each other
// before they stamp an operation, because a stamped operation must be written on any disk.
type Room uint8

const (
	RoomForAll     Room = iota
	RoomForDeletes      // less than the watermark is free
	RoomForNone         // less than three quarters of it: the rest is for operations in flight
)

// Room returns how much room the store's disk has.
func (s *Store) Room() Room {
	switch {
	case !s.db.RoomForClients():
		return RoomForNone
	case s.db.Room(0) != nil:
		return RoomForDeletes
	}
	return RoomForAll
}
