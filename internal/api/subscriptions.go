// The answers of /subscriptions.

package api

import "time"

// Subscription is a registered subscription.
type Subscription struct {
	SubscriptionDefinition
	State SubscriptionState `json:"state"`
	// Changes is the path and query at which the application reads the changes if there is no webhook.
	Changes string `json:"changes,omitempty"`
	// Secret signs what is sent to the webhook. Only the answer to PUT has it.
	Secret string `json:"secret,omitempty"`
}

// SubscriptionDefinition is what an application registered.
type SubscriptionDefinition struct {
	Name string `json:"name"`
	// Filter has the parameters of GET /changes that select changes: s, p, o, g, the bounds of a
	// range, app and kinds.
	Filter map[string]string `json:"filter,omitempty"`
	// URL is the webhook. If it is "", the application reads the changes itself.
	URL string `json:"url,omitempty"`
	// Owner is the application whose token stored it, or "" without such a token.
	Owner string `json:"owner,omitempty"`
}

// SubscriptionState is how far a subscription is. A node stores it in this form, too.
type SubscriptionState struct {
	Position string `json:"position"` // all changes before it are delivered or dead letters
	Batches  int64  `json:"batches"`  // delivered
	Changes  int64  `json:"changes"`  // in them
	// Delivered is the time of the last delivery.
	Delivered *time.Time `json:"delivered,omitempty"`
	// Failures is the number of failed tries of the next batch, the first of them at FailingSince.
	Failures     int        `json:"failures,omitempty"`
	FailingSince *time.Time `json:"failingSince,omitempty"`
	LastError    string     `json:"lastError,omitempty"`
	// DeadLetters counts all, Dead has the latest.
	DeadLetters int64        `json:"deadLetters,omitempty"`
	Dead        []DeadLetter `json:"dead,omitempty"`
}

// DeadLetter is a batch that was given up: the changes behind From, up to To.
type DeadLetter struct {
	From    string    `json:"from"`
	To      string    `json:"to"`
	Changes int       `json:"changes"`
	Error   string    `json:"error"`
	Time    time.Time `json:"time"`
}
