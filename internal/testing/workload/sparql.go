// The store behind SPARQL queries and updates.

package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/history"
)

// SPARQL is a [Store] on a server. See the package for the triples.
type SPARQL struct {
	name   string
	client *client.Client
	last   atomic.Int64 // number of the last transaction that made a record
}

// Dial returns a store on the server at a URL, which c reaches. The names of the stores of a run must differ,
// because each names its transactions by its own.
func Dial(name, url string, c *http.Client) (*SPARQL, error) {
	endpoint, err := client.New(url, client.Options{HTTPClient: c})
	if err != nil {
		return nil, err
	}
	return &SPARQL{name: name, client: endpoint}, nil
}

// Close closes idle connections.
func (s *SPARQL) Close() error { return s.client.Close() }

// Txn runs a transaction as one query or one update.
func (s *SPARQL) Txn(ctx context.Context, ops []history.Op) ([]history.Op, error) {
	if !slices.ContainsFunc(ops, writes) {
		states, err := s.query(ctx, ops)
		if err != nil {
			return nil, err
		}
		return states.results(ops), nil
	}
	record := fmt.Sprintf("<%stxn/%s-%d>", base, s.name, s.last.Add(1))
	update, reads := updateText(ops, record)
	if _, err := s.client.Update(ctx, update, client.QueryOptions{}); err != nil {
		return nil, fmt.Errorf("%w: %w", outcomeOf(err), err)
	}
	if !reads {
		return slices.Clone(ops), nil
	}
	states, err := s.fetchRecord(ctx, record)
	if err != nil {
		return nil, err
	}
	return states.results(ops), nil
}

// errUnknown is the outcome of a transaction that may be committed.
var errUnknown = errors.New("unknown outcome")

// outcomeOf returns whether an update with this error was aborted. Busy means that it did not begin,
// and a conflict that it was rejected.
func outcomeOf(err error) error {
	var answer *client.Error
	if (errors.Is(err, client.ErrBusy) || errors.Is(err, client.ErrConflict)) && errors.As(err, &answer) && !answer.Begun {
		return ErrAborted
	}
	return errUnknown
}

// query reads the states of all keys of some operations.
func (s *SPARQL) query(ctx context.Context, ops []history.Op) (states, error) {
	subjects := map[string]cellKey{}
	values := ""
	for _, o := range ops {
		k := keyOf(o)
		if _, again := subjects[k.iri()]; !again {
			subjects[k.iri()] = k
			values += fmt.Sprintf("<%s> ", k.iri())
		}
	}
	found := states{byKey: map[cellKey]state{}}
	for row, err := range s.client.Query(ctx, "SELECT ?s ?p ?o { VALUES ?s { "+values+"} ?s ?p ?o }", client.QueryOptions{}) {
		if err != nil {
			return states{}, err
		}
		found.addTriple(subjects[row.Term("s").Value()], row.Term("p").Value(), row.Term("o").Value())
	}
	return found, nil
}

// fetchRecord returns what an update read. If the record has no state or several, the states are torn.
func (s *SPARQL) fetchRecord(ctx context.Context, record string) (states, error) {
	var records []string
	for row, err := range s.client.Query(ctx, "SELECT ?o { "+record+" <"+readsIRI+"> ?o }", client.QueryOptions{}) {
		if err != nil {
			return states{}, err
		}
		records = append(records, row.Term("o").Value())
	}
	return parseRecords(records)
}
