// Package uid numbers the pages of the link store: the UID of a page, the slot of a host, and the
// next numbers to assign. It is pure: no goroutine, clock, file or socket.
//
// A UID identifies one page for ever. It contains the place of the page's data but no machine. So
// when slots move between machines, no page is renumbered:
//
//	 63           50 49                  28 27                          0
//	+---------------+----------------------+-----------------------------+
//	| slot (14)     | host in slot (22)    | page (28)                   |
//	+---------------+----------------------+-----------------------------+
//	 \______________ extent (36) _________/
//
// The slot is the upper 14 bits of the xxhash64 of the page's host key, see [SlotOf]. Host
// numbers of a slot begin at 1, because a UID must not be 0. A host's pages get the page numbers
// 0, 1, 2, ... of an [Extent]. If a host has more than 2^28 pages, it gets further extents, with
// further host numbers of the same slot. As text a UID is a decimal number without sign or
// leading zeros, see [Parse].
//
// # Assigning numbers
//
// [Numbers] is the arithmetic of one slot's extents. [Allocator] adds the hosts of the extents.
// Both are rebuilt from the stored UIDs.
//
// Over time several machines assign numbers of the same slot, one after the other. None of them
// can see the writes of another that are in flight. So each must use host numbers of its own
// only: those of its grants. [Grant] g is the host numbers
//
//	1 + 64 g ... 64 + 64 g        (to 2^22 - 1)
//
// of every slot. Each grant must be given out once, and durably. Then two assigners have no UID
// in common, in whatever order their writes land. An assigner may continue an extent only if the
// extent is part of one of its grants. When a process restarts, it may use its old grants if two
// conditions hold. Every write of its former incarnation must have landed or failed for good, and
// the landed ones must be restored. If it cannot be sure of that, it must request a new grant.
package uid
