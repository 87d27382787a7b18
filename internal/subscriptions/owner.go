// Who may see and change a subscription.

package subscriptions

import (
	"errors"

	"github.com/trefoildb/trefoil/internal/webhook"
)

var (
	// ErrForbidden means that a subscription belongs to another application.
	ErrForbidden = errors.New("the subscription belongs to another application, or to operators")
	// ErrReads means that only operators may change a subscription, because it counts reads.
	ErrReads = errors.New("the subscription counts reads, so that only the operators' token may change it")
)

// Caller is the identity of a request. The zero Caller is that of requests without an application.
type Caller struct {
	// All allows it to see and change all subscriptions.
	All bool
	// Owner is the owner of new subscriptions. The caller may see and change those of this owner.
	Owner string
	// Operator allows it to change subscriptions of kind read. What it stores gets annotations that
	// only operators may read.
	Operator bool
}

// May reports whether the caller may see and change subscriptions of an owner.
func (c Caller) May(owner string) bool { return c.All || c.Owner == owner }

// mayChange returns an error if a caller may not change or delete a stored subscription.
func (r *Registry) mayChange(by Caller, s *Subscription) error {
	if !by.May(s.Owner) {
		return ErrForbidden
	}
	if f, err := r.Filter(s.Filter); err == nil && CountsReads(f) && !by.Operator {
		return ErrReads
	}
	return nil
}

// secretOf returns the secret of a webhook under the operator's key. It differs for each owner: if a
// name gets another owner, the secret of the former one is of no use. No name has a space.
func secretOf(d *Definition, key []byte) []byte {
	name := d.Name
	if d.Owner != "" {
		name += " " + d.Owner
	}
	return webhook.DeriveSecret(key, name)
}
