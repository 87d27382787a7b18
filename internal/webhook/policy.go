// When to try again, and when to give up.

package webhook

import (
	"errors"
	"fmt"
	"time"
)

// Policy decides about failed messages. Zero fields have defaults.
type Policy struct {
	// FirstWait is the time before the second try; 0 is a second. It doubles with each failure.
	FirstWait time.Duration
	// MaxWait bounds the time between tries; 0 is 5 minutes.
	MaxWait time.Duration
	// MaxRetryAfter bounds what a receiver may demand by Retry-After; 0 is 15 minutes.
	MaxRetryAfter time.Duration
	// MaxTries is the number of tries of one message; 0 is 20.
	MaxTries int
	// MaxAge is the time after the first try at which a message is given up; 0 is 1 hour.
	MaxAge time.Duration
}

// Validate returns an error if a field is negative.
func (p Policy) Validate() error {
	if p.FirstWait < 0 || p.MaxWait < 0 || p.MaxRetryAfter < 0 || p.MaxTries < 0 || p.MaxAge < 0 {
		return fmt.Errorf("webhooks: a limit is negative: %+v", p)
	}
	return nil
}

// Next returns how long to wait before the next try of a message that has failed tries times. giveUp
// means that there is none: the message has reached its limit of tries or of age, or the receiver
// answered that it is gone. random is in [0, 1): half of the time is random, so that many messages
// do not come back at once.
func (p Policy) Next(tries int, age time.Duration, err error, random float64) (wait time.Duration, giveUp bool) {
	or := func(d, otherwise time.Duration) time.Duration {
		if d == 0 {
			return otherwise
		}
		return d
	}
	maxTries := p.MaxTries
	if maxTries == 0 {
		maxTries = 20
	}
	// 1. Double the wait up to its limit.
	most := or(p.MaxWait, 5*time.Minute)
	wait = or(p.FirstWait, time.Second)
	for i := 1; i < tries && wait < most; i++ {
		wait *= 2
	}
	wait = min(wait, most)
	wait = wait/2 + time.Duration(random*float64(wait/2))
	// 2. The receiver may demand more.
	var status *StatusError
	if errors.As(err, &status) {
		wait = max(wait, min(status.RetryAfter, or(p.MaxRetryAfter, 15*time.Minute)))
		giveUp = status.Gone
	}
	return wait, giveUp || tries >= maxTries || age+wait > or(p.MaxAge, time.Hour)
}
