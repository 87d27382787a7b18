// The formats and their media types.

package results

import (
	"fmt"
	"strings"
)

// Format is a format of results.
type Format uint8

// The formats. Table is for people and is not read.
const (
	JSON Format = iota
	XML
	CSV
	TSV
	Table
)

// Formats lists the formats of SPARQL.
var Formats = [...]Format{JSON, XML, CSV, TSV}

var formats = [...]struct{ name, mediaType string }{
	JSON:  {"json", "application/sparql-results+json"},
	XML:   {"xml", "application/sparql-results+xml"},
	CSV:   {"csv", "text/csv"},
	TSV:   {"tsv", "text/tab-separated-values"},
	Table: {"table", "text/plain"},
}

// String returns the format's short name: "json", "xml", "csv", "tsv" or "table".
func (f Format) String() string {
	if int(f) < len(formats) {
		return formats[f].name
	}
	return fmt.Sprintf("format %d", uint8(f))
}

// MediaType returns the media type of a document, without parameters.
func (f Format) MediaType() string { return formats[f].mediaType }

// ContentType returns the value of an HTTP Content-Type field.
func (f Format) ContentType() string {
	switch f {
	case CSV:
		return "text/csv; charset=utf-8; header=present"
	case TSV, Table:
		return formats[f].mediaType + "; charset=utf-8"
	}
	return formats[f].mediaType
}

// ParseFormat returns the format with a short name, in any case.
func ParseFormat(name string) (Format, error) {
	for f := range formats {
		if strings.EqualFold(name, formats[f].name) {
			return Format(f), nil
		}
	}
	return 0, fmt.Errorf("unknown format of results %q: it is json, xml, csv, tsv or table", name)
}

// FormatOf returns the format of documents of a media type, with parameters or without. Besides
// SPARQL's own types there are application/json, application/xml and text/xml, because servers
// send these too.
func FormatOf(mediaType string) (Format, bool) {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	for _, f := range Formats {
		if mediaType == formats[f].mediaType {
			return f, true
		}
	}
	switch mediaType {
	case "application/json":
		return JSON, true
	case "application/xml", "text/xml":
		return XML, true
	}
	return 0, false
}
