// Tests of language tags: their case, and those that are not well-formed.

package syntax

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// tagged is a document of one triple with a language tag.
type tagged struct {
	syntax   Syntax
	document func(tag string) string
}

// taggedDocuments are documents of all syntaxes, also with a base direction and inside of a triple term.
func taggedDocuments() map[string]tagged {
	const head = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="x:" rdf:version="1.2"><rdf:Description rdf:about="x:s"><x:p xml:lang="`
	return map[string]tagged{
		"N-Triples":        {NTriples, func(tag string) string { return `<x:s> <x:p> "a"@` + tag + " ." }},
		"a triple term":    {NTriples, func(tag string) string { return `<x:s> <x:p> <<( <x:s> <x:p> "a"@` + tag + " )>> ." }},
		"a direction":      {NTriples, func(tag string) string { return `<x:s> <x:p> "a"@` + tag + "--ltr ." }},
		"N-Quads":          {NQuads, func(tag string) string { return `<x:s> <x:p> "a"@` + tag + " <x:g> ." }},
		"Turtle":           {Turtle, func(tag string) string { return `<x:s> <x:p> "a"@` + tag + " ." }},
		"Turtle, directed": {Turtle, func(tag string) string { return `<x:s> <x:p> 'a'@` + tag + "--rtl ." }},
		"TriG":             {TriG, func(tag string) string { return `<x:g> { <x:s> <x:p> """a"""@` + tag + " }" }},
		"RDF/XML":          {RDFXML, func(tag string) string { return head + tag + `">a</x:p></rdf:Description></rdf:RDF>` }},
		"NDJSON": {NDJSON, func(tag string) string {
			return `{"s":{"type":"uri","value":"x:s"},"p":{"type":"uri","value":"x:p"},"o":{"type":"literal","value":"a","xml:lang":"` + tag + `"}}`
		}},
		"JSON-LD":          {JSONLD, func(tag string) string { return `{"@id":"x:s","x:p":{"@value":"a","@language":"` + tag + `"}}` }},
		"JSON-LD, default": {JSONLD, func(tag string) string { return `{"@context":{"@language":"` + tag + `"},"@id":"x:s","x:p":"a"}` }},
	}
}

// TestLanguageTags: every syntax takes subtags of eight characters, and rejects those of nine (BCP 47).
func TestLanguageTags(t *testing.T) {
	for name, d := range taggedDocuments() {
		for tag, good := range map[string]bool{"en": true, "abcdefgh": true, "zh-Hant-abcdefg8": true, "abcdefghi": false, "zh-classical": false, "x-12345678-123456789": false} {
			for _, keepGoing := range []bool{false, true} {
				triples, rejects := 0, 0
				var failed error
				for _, err := range Parse(context.Background(), strings.NewReader(d.document(tag)), d.syntax, Options{Source: "d", KeepGoing: keepGoing, TempDir: t.TempDir()}) {
					var reject *Reject
					switch {
					case errors.As(err, &reject):
						rejects++
						failed = reject
					case err != nil:
						failed = err
					default:
						triples++
					}
				}
				var place *triple.SyntaxError
				switch {
				case good && (failed != nil || triples != 1):
					t.Errorf("%s: %s: %d triples, %v", name, tag, triples, failed)
				case !good && (triples > 0 || !errors.As(failed, &place) || place.Line != 1 || !strings.Contains(failed.Error(), "has more than 8 characters") || keepGoing != (rejects == 1)):
					t.Errorf("%s: %s: %d triples, %d rejects, %v", name, tag, triples, rejects, failed)
				}
			}
		}
	}
}

// TestTagsAreFolded: every syntax makes one term of tags that differ in case.
func TestTagsAreFolded(t *testing.T) {
	for name, d := range taggedDocuments() {
		var want triple.Triple
		for _, tag := range []string{"zh-hant-tw", "zh-Hant-TW", "ZH-HANT-TW"} {
			for got, err := range Parse(context.Background(), strings.NewReader(d.document(tag)), d.syntax, Options{}) {
				if want.Subject.IsZero() {
					want = got
				}
				if err != nil || got != want || got.Object != got.Object.Fold() {
					t.Errorf("%s: %s: %s, %v, want %s", name, tag, got, err, want)
				}
			}
		}
	}
}
