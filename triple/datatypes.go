// The datatypes with values.

package triple

// Namespaces, and the datatype IRIs with values.
const (
	XSD = "http://www.w3.org/2001/XMLSchema#"
	RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

	XSDString     = XSD + "string"
	XSDBoolean    = XSD + "boolean"
	XSDInteger    = XSD + "integer"
	XSDDecimal    = XSD + "decimal"
	XSDFloat      = XSD + "float"
	XSDDouble     = XSD + "double"
	XSDDateTime   = XSD + "dateTime"
	XSDDate       = XSD + "date"
	XSDTime       = XSD + "time"
	RDFLangString = RDF + "langString"

	RDFDirLangString = RDF + "dirLangString"

	RDFType  = RDF + "type"
	RDFFirst = RDF + "first"
	RDFRest  = RDF + "rest"
	RDFNil   = RDF + "nil"

	RDFReifies = RDF + "reifies"
)

// numericTypes lists the XSD numeric datatypes by local name in code point order. A datatype's code
// in a key is its index + 1. The list must never be reordered, because it is part of the key
// format.
var numericTypes = [...]string{
	XSD + "byte",
	XSD + "decimal",
	XSD + "double",
	XSD + "float",
	XSD + "int",
	XSD + "integer",
	XSD + "long",
	XSD + "negativeInteger",
	XSD + "nonNegativeInteger",
	XSD + "nonPositiveInteger",
	XSD + "positiveInteger",
	XSD + "short",
	XSD + "unsignedByte",
	XSD + "unsignedInt",
	XSD + "unsignedLong",
	XSD + "unsignedShort",
}

// Codes of the numeric datatypes with their own lexical space.
const (
	codeDecimal = 2
	codeDouble  = 3
	codeFloat   = 4
	codeInteger = 6
)

// numericCode returns the code of a numeric datatype, or 0 for any other IRI.
func numericCode(datatype string) byte {
	// A code must be the index in numericTypes plus one.
	const prefix = len(XSD)
	if len(datatype) <= prefix || datatype[:prefix] != XSD {
		return 0
	}
	switch datatype[prefix:] {
	case "integer":
		return codeInteger
	case "decimal":
		return codeDecimal
	case "double":
		return codeDouble
	case "float":
		return codeFloat
	case "byte":
		return 1
	case "int":
		return 5
	case "long":
		return 7
	case "negativeInteger":
		return 8
	case "nonNegativeInteger":
		return 9
	case "nonPositiveInteger":
		return 10
	case "positiveInteger":
		return 11
	case "short":
		return 12
	case "unsignedByte":
		return 13
	case "unsignedInt":
		return 14
	case "unsignedLong":
		return 15
	case "unsignedShort":
		return 16
	}
	return 0
}

// knownDatatype returns the program's own string of a well-known datatype IRI.
func knownDatatype(datatype string) (string, bool) {
	if code := numericCode(datatype); code != 0 {
		return numericTypes[code-1], true
	}
	switch datatype {
	case XSDString:
		return XSDString, true
	case RDFLangString:
		return RDFLangString, true
	case RDFDirLangString:
		return RDFDirLangString, true
	case XSDBoolean:
		return XSDBoolean, true
	case XSDDateTime:
		return XSDDateTime, true
	case XSDDate:
		return XSDDate, true
	case XSDTime:
		return XSDTime, true
	}
	return "", false
}
