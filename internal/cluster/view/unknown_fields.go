// Fields that a later minor of the protocol has added to a view: they are kept.

package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/trefoildb/trefoil/internal/protocol"
)

// decodeKnown decodes the JSON object b into the struct at to. It returns the fields unknown to
// the struct as an object, "" if there are none.
func decodeKnown(b []byte, to any) (unknown string, err error) {
	strict := json.NewDecoder(bytes.NewReader(b))
	strict.DisallowUnknownFields()
	if strict.Decode(to) == nil {
		return "", nil
	}
	if err := json.Unmarshal(b, to); err != nil {
		return "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return "", err
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(to).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for field := range fields { // encoding/json ignores the case of names
			if strings.EqualFold(field, name) {
				delete(fields, field)
			}
		}
	}
	if len(fields) == 0 {
		return "", nil
	}
	rest, err := json.Marshal(fields)
	return string(rest), err
}

// encodeWith encodes a struct with the unknown fields of decodeKnown. The struct must have a
// field at least.
func encodeWith(unknown string, of any) ([]byte, error) {
	b, err := json.Marshal(of)
	if err != nil || unknown == "" {
		return b, err
	}
	return append(append(b[:len(b)-1], ','), unknown[1:]...), nil
}

// maxUnknown bounds the bytes of unknown fields of one machine in the view, because every
// member keeps them and each change of the view sends them.
const maxUnknown = 4 << 10

// CheckUnknown returns an error if a member has too many bytes of fields that this
// release does not know.
func (m *Member) CheckUnknown() error {
	if len(m.unknown) > maxUnknown {
		return fmt.Errorf("view: machine %s describes itself with %d bytes that this release (protocol %s) does not know: %d are allowed",
			m.ID, len(m.unknown), protocol.Name(protocol.Minor), maxUnknown)
	}
	return nil
}

// plainMember and plainLoad are without their methods, for the codec.
type (
	plainMember Member
	plainLoad   Load
)

// MarshalJSON implements json.Marshaler.
func (m Member) MarshalJSON() ([]byte, error) { return encodeWith(m.unknown, plainMember(m)) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Member) UnmarshalJSON(b []byte) error {
	var p plainMember
	var err error
	if p.unknown, err = decodeKnown(b, &p); err != nil {
		return err
	}
	*m = Member(p)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (l Load) MarshalJSON() ([]byte, error) { return encodeWith(l.unknown, plainLoad(l)) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Load) UnmarshalJSON(b []byte) error {
	var p plainLoad
	var err error
	if p.unknown, err = decodeKnown(b, &p); err != nil {
		return err
	}
	*l = Load(p)
	return nil
}
