// Tests of publishing.

package rdfload_test

import (
	"context"

	"github.com/trefoildb/trefoil/rdfload"
)

// hookedSink calls hook before each call of a sink, of its tables and of its keys, with the name of
// the method. If hook returns an error, the call returns it.
type hookedSink struct {
	rdfload.Sink
	hook func(event string) error
}

func (s hookedSink) Begin(ctx context.Context, id string) (rdfload.Start, error) {
	if err := s.hook("begin"); err != nil {
		return rdfload.Start{}, err
	}
	start, err := s.Sink.Begin(ctx, id)
	if start.Existing != nil {
		start.Existing = hookedSnapshot{start.Existing, s.hook}
	}
	return start, err
}

func (s hookedSink) Room(bytes int64) error {
	if err := s.hook("room"); err != nil {
		return err
	}
	return s.Sink.Room(bytes)
}

func (s hookedSink) CreateTable(path string) (rdfload.Table, error) {
	if err := s.hook("create"); err != nil {
		return nil, err
	}
	table, err := s.Sink.CreateTable(path)
	return hookedTable{table, s.hook}, err
}

func (s hookedSink) Publish(ctx context.Context, record rdfload.Record, tables []string) error {
	if err := s.hook("publish"); err != nil {
		return err
	}
	if err := s.Sink.Publish(ctx, record, tables); err != nil {
		return err
	}
	return s.hook("published")
}

type hookedTable struct {
	rdfload.Table
	hook func(event string) error
}

func (t hookedTable) Set(key, value []byte) error {
	if err := t.hook("set"); err != nil {
		return err
	}
	return t.Table.Set(key, value)
}

func (t hookedTable) Close() error {
	err := t.Table.Close()
	if err := t.hook("close"); err != nil {
		return err
	}
	return err
}

type hookedSnapshot struct {
	rdfload.Snapshot
	hook func(event string) error
}

func (s hookedSnapshot) Keys() (rdfload.Keys, error) {
	if err := s.hook("keys"); err != nil {
		return nil, err
	}
	return s.Snapshot.Keys()
}
