// Package uid numbers the pages of the link store: what a UID is, which slot a
// host is in, and which numbers are given out next. It is pure: no goroutine,
// clock, file or socket.
//
// A UID names one page for ever. It says where the page is kept and nothing
// about machines, so slots move between machines and no page is renumbered:
//
//	 63           50 49                  28 27                          0
//	+---------------+----------------------+-----------------------------+
//	| slot (14)     | host in slot (22)    | page (28)                   |
//	+---------------+----------------------+-----------------------------+
//	 \______________ extent (36) _________/
//
// The slot is the upper 14 bits of the xxhash64 of the page's host key, see
// [SlotOf]. Host numbers of a slot begin at 1, so no UID is 0 and a UID's host
// is never 0. A host's pages get the page numbers 0, 1, 2, ... of an [Extent];
// a host with more than 2^28 pages gets further extents, which are further
// host numbers of the same slot. As text a UID is a decimal number without
// sign or leading zeros, see [Parse].
//
// # Giving numbers out
//
// [Numbers] is the arithmetic of one slot's extents, [Allocator] adds which
// host has which. Both are rebuilt from the UIDs that are stored.
//
// Over time several machines give out numbers of the same slot, one after the
// other. None of them knows what another has in flight. So each uses host
// numbers of its own only: those of the grants that it holds. [Grant] g is the
// host numbers
//
//	1 + 64 g ... 64 + 64 g        (to 2^22 - 1)
//
// of every slot. Who gives grants out, durably, gives each one once; then two
// assigners have no UID in common, whatever order their writes land in. An
// assigner goes on in an extent only if it is one of its grants. A process that
// restarts may use its old grants again once every write of its former life has
// landed or failed for good, and what landed has been restored; if it cannot
// know that, it asks for a new grant.
package uid
