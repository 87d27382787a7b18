"""rdflib as an oracle for SPARQL: jobs are lines of JSON on the standard input,
answers lines of JSON on the standard output.

A job is {"data": [[quad...]...], "queries": [text...]}, its answer {"results":
[[result...]...]}, for each dataset the result of each query. A quad is a list of three or four terms. A term is ["i", IRI],
["b", label], or ["l", lexical form, datatype IRI, language tag]. A result is
{"rows": [{variable: term}...]}, {"boolean": true}, {"graph": [quad...]} or
{"error": text}. A job with "update": text in place of queries is answered with
the graphs that each dataset then has.

rdflib errs in many places. Those that are corrected here are named by
@corrects, and each name stands in the table of deviations_test.go with the
section of the specification and a query that shows it. With --plain nothing is
corrected.
"""

import datetime
import decimal
import json
import logging
import math
import re
import signal
import struct
import sys
import warnings
from decimal import Decimal
from urllib.parse import quote

import pyparsing
import rdflib
import rdflib.plugins.sparql
from rdflib import RDF, XSD, BNode, Dataset, Literal, URIRef, Variable
from rdflib import paths
from rdflib.plugins.sparql import CUSTOM_EVALS, aggregates, algebra, evaluate, evalutils, operators
from rdflib.plugins.sparql import parserutils, prepareQuery, update
from rdflib.plugins.sparql.aggregates import Aggregator
from rdflib.plugins.sparql.evaluate import evalPart
from rdflib.plugins.sparql.evalutils import _ebv, _eval, _fillTemplate, _join
from rdflib.plugins.sparql.sparql import FrozenBindings, NotBoundError, QueryContext, SPARQLError, SPARQLTypeError

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
rdflib.NORMALIZE_LITERALS = False  # an option: lexical forms stay as written
rdflib.plugins.sparql.SPARQL_DEFAULT_GRAPH_UNION = False  # an option: the default graph is that of the dataset

pyparsing.ParserElement._skipIgnorables = lambda self, text, at: at  # our queries have no comments

CORRECTIONS = {}


def corrects(name):
    """Names the deviation that a function, which installs its correction, undoes."""

    def keep(install):
        CORRECTIONS[name] = install
        return install

    return keep


# Functions of rdflib's operators, and what is called in their place.
REPLACED = {}


def replaces(*functions):
    def keep(correct):
        for function in functions:
            REPLACED[function] = correct
        return correct

    return keep


# --- terms ---


@corrects("xsd:string")
def plain_literals_are_strings():
    original = Literal.__new__

    def new(cls, lexical_or_value, lang=None, datatype=None, normalize=None):
        if datatype is not None and str(datatype) == str(XSD.string):
            datatype = None
            lexical_or_value = str(lexical_or_value)
        return original(cls, lexical_or_value, lang, datatype, normalize)

    Literal.__new__ = new


@corrects("false literals")
def literals_are_no_conditions():
    Literal.__bool__ = lambda self: True


# --- expressions ---


@corrects("errors")
def errors_are_values():
    def run(self, ctx={}):
        try:
            self.ctx = ctx
            function = self._evalfn.__func__
            return REPLACED.get(function, function)(self, ctx)
        except SPARQLError as e:
            return e
        except Exception as e:
            return SPARQLError(repr(e))
        finally:
            self.ctx = None

    parserutils.Expr.eval = run
    rdflib.DAWG_LITERAL_COLLATION = True  # an option: what cannot be compared is an error


@corrects("errors as arguments")
def errors_are_no_arguments():
    original = parserutils.value

    def value(ctx, val, variables=False, errors=False):
        result = original(ctx, val, variables, errors)
        if isinstance(result, SPARQLError) and not errors:
            raise result
        return result

    parserutils.value = value

    @replaces(operators.Builtin_COALESCE)
    def coalesce(e, ctx):
        for x in dict.get(e, "arg"):
            try:
                return value(ctx, x)
            except SPARQLError:
                pass
        raise SPARQLError("nothing")


TYPES = [XSD.integer, XSD.decimal, XSD.float, XSD.double]
DERIVED = [
    XSD[name]
    for name in "nonPositiveInteger negativeInteger long int short byte nonNegativeInteger unsignedLong "
    "unsignedInt unsignedShort unsignedByte positiveInteger".split()
]


def single(value):
    try:
        return struct.unpack("f", struct.pack("f", float(value)))[0]
    except OverflowError:
        return math.copysign(math.inf, float(value))


CONVERT = [int, Decimal, single, float]
LEXICAL = [
    re.compile(r"[+-]?[0-9]+"),
    re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"),
    re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN"),
]
LEXICAL.append(LEXICAL[2])


def number(term):
    """The rank of a literal's type in TYPES, and its value."""
    if not isinstance(term, Literal):
        raise SPARQLTypeError("no literal")
    if term.datatype in DERIVED:
        rank = 0
    elif term.datatype in TYPES:
        rank = TYPES.index(term.datatype)
    else:
        raise SPARQLTypeError("no number")
    text = term.strip(" \t\r\n")
    if not LEXICAL[rank].fullmatch(text):
        raise SPARQLTypeError("not in the lexical space")
    return rank, CONVERT[rank](text)


def literal(rank, value):
    if rank < 2:
        text = format(CONVERT[rank](value), "f" if rank else "d")
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return Literal("0" if text == "-0" else text, datatype=TYPES[rank])
    value = CONVERT[rank](value)
    text = "NaN" if math.isnan(value) else ("-INF" if value < 0 else "INF") if math.isinf(value) else repr(value)
    return Literal(text, datatype=TYPES[rank])


def calculate(op, a, b):
    (ra, va), (rb, vb) = number(a), number(b)
    rank = max(ra, rb, 1 if op == "/" else 0)
    va, vb = CONVERT[rank](va), CONVERT[rank](vb)
    if op == "/" and vb == 0:
        if rank < 2:
            raise SPARQLError("division by zero")
        if va == 0 or math.isnan(va):
            return literal(rank, math.nan)
        return literal(rank, math.copysign(math.inf, va) * math.copysign(1, vb))
    return literal(rank, va + vb if op == "+" else va - vb if op == "-" else va * vb if op == "*" else va / vb)


def rounded(value):
    return math.floor(value + (Decimal("0.5") if isinstance(value, Decimal) else 0.5))


@corrects("arithmetic")
def numbers_have_types():
    @replaces(operators.MultiplicativeExpression, operators.AdditiveExpression)
    def chain(e, ctx):
        result = e.expr
        for op, term in zip(e.op or [], e.other or []):
            result = calculate(op, result, term)
        return result

    @replaces(operators.UnaryMinus)
    def minus(e, ctx):
        rank, value = number(e.expr)
        return literal(rank, -value)

    @replaces(operators.UnaryPlus)
    def plus(e, ctx):
        return literal(*number(e.expr))

    def unary(function, exact):
        def apply(e, ctx):
            rank, value = number(e.arg)
            if not exact and isinstance(value, float) and not math.isfinite(value):
                return literal(rank, value)
            return literal(rank, function(value))

        return apply

    REPLACED[operators.Builtin_ABS] = unary(abs, True)
    REPLACED[operators.Builtin_CEIL] = unary(math.ceil, False)
    REPLACED[operators.Builtin_FLOOR] = unary(math.floor, False)
    REPLACED[operators.Builtin_ROUND] = unary(rounded, False)

    @replaces(operators.Builtin_isNUMERIC)
    def is_numeric(e, ctx):
        try:
            number(e.arg)
            return Literal(True)
        except SPARQLTypeError:
            return Literal(False)


def is_string(term):
    return isinstance(term, Literal) and term.datatype is None and not term.language


def is_number(term):
    return isinstance(term, Literal) and (term.datatype in TYPES or term.datatype in DERIVED)


def less(a, b):
    """Less than and equal, of two terms that the operator table orders."""
    if is_number(a) and is_number(b):
        (ra, va), (rb, vb) = number(a), number(b)
        convert = CONVERT[max(ra, rb)]
        return convert(va) < convert(vb), convert(va) == convert(vb)
    if is_string(a) and is_string(b):
        return str(a) < str(b), str(a) == str(b)
    if isinstance(a, Literal) and isinstance(b, Literal) and a.datatype == b.datatype:
        if a.datatype in (XSD.boolean, XSD.dateTime, XSD.date) and a.value is not None and b.value is not None:
            return a.value < b.value, a.value == b.value
    raise SPARQLTypeError("no order")


def kind(term):
    """Of a literal that has a value: values of two kinds are known to differ."""
    if is_string(term):
        return XSD.string
    if is_number(term):
        try:
            return number(term) and XSD.decimal
        except SPARQLTypeError:
            return None
    if term.datatype == XSD.boolean:
        return XSD.boolean if str(term) in ("true", "1", "false", "0") else None
    return term.datatype if term.datatype in (XSD.dateTime, XSD.date) and term.value is not None else None


def equal(a, b):
    if is_number(a) and is_number(b):
        if a == b and kind(a) is None:
            return True  # one ill-typed term
        return less(a, b)[1]
    if isinstance(a, Literal) and isinstance(b, Literal):
        if kind(a) and kind(b) and kind(a) != kind(b):
            return False
        result = a.eq(b)
        if result is NotImplemented:
            raise SPARQLTypeError("no equality")
        return result
    return a == b


@corrects("comparison")
def comparison_by_the_table():
    @replaces(operators.RelationalExpression)
    def compare(e, ctx):
        if dict.get(e, "other") is None:
            return e.expr
        op, a = e.op, e.expr
        if op in ("IN", "NOT IN"):
            return member(e, a, op == "NOT IN")
        b = e.other
        if op in ("=", "!="):
            return Literal(equal(a, b) == (op == "="))
        lt, eq = less(a, b)
        gt = less(b, a)[0]
        return Literal({"<": lt, ">": gt, "<=": lt or eq, ">=": gt or eq}[op])

    def member(e, a, negated):
        error = None
        others = dict.__getitem__(e, "other")
        for x in [] if others == RDF.nil else others:
            try:
                if equal(a, parserutils.value(e.ctx, x)):
                    return Literal(not negated)
            except (SPARQLError, TypeError) as failed:
                error = failed
        if error:
            raise SPARQLError(str(error))
        return Literal(negated)


def ebv(term):
    """The effective boolean value, section 17.2.2."""
    if isinstance(term, Literal):
        if term.datatype == XSD.boolean:
            return str(term) in ("true", "1")
        if is_number(term):
            try:
                value = number(term)[1]
            except SPARQLTypeError:
                return False
            return value == value and value != 0
        if term.datatype is None:
            return len(term) > 0
    raise SPARQLTypeError("no boolean value")


@corrects("boolean values")
def boolean_values():
    operators.EBV = evalutils.EBV = ebv


@corrects("logical and")
def logical_and():
    @replaces(operators.ConditionalAndExpression)
    def conjunction(e, ctx):
        if dict.get(e, "other") is None:
            return e.expr
        error = None
        for x in [dict.get(e, "expr")] + list(dict.get(e, "other")):
            try:
                if not operators.EBV(parserutils.value(ctx, x)):
                    return Literal(False)
            except SPARQLError as failed:
                error = failed
        if error:
            raise error
        return Literal(True)

    @replaces(operators.ConditionalOrExpression)
    def disjunction(e, ctx):
        if dict.get(e, "other") is None:
            return e.expr
        error = None
        for x in [dict.get(e, "expr")] + list(dict.get(e, "other")):
            try:
                if operators.EBV(parserutils.value(ctx, x)):
                    return Literal(True)
            except SPARQLError as failed:
                error = failed
        if error:
            raise error
        return Literal(False)


# --- strings ---


def string(term):
    if not isinstance(term, Literal) or term.datatype is not None:
        raise SPARQLTypeError("no string")
    return term


def like(text, term):
    return Literal(text, lang=term.language, datatype=term.datatype)


@corrects("SUBSTR")
def substr_counts_from_one():
    @replaces(operators.Builtin_SUBSTR)
    def substr(e, ctx):
        text = string(e.arg)
        start = rounded(number(e.start)[1])
        end = math.inf
        if dict.get(e, "length") is not None:
            end = start + rounded(number(e.length)[1])
        return like("".join(c for i, c in enumerate(text, 1) if start <= i < end), text)


def expression(e):
    pattern = str(string(e.pattern))
    flags = 0
    if dict.get(e, "flags") is not None:
        for f in str(string(e.flags)):
            flags |= {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE}[f]
    return re.compile(pattern, flags)


@corrects("REGEX and REPLACE")
def flags_are_flags():
    @replaces(operators.Builtin_REGEX)
    def regex(e, ctx):
        return Literal(bool(expression(e).search(str(string(e.text)))))

    @replaces(operators.Builtin_REPLACE)
    def replace(e, ctx):
        text, pattern = string(e.arg), expression(e)
        if pattern.search(""):
            raise SPARQLError("the pattern matches the empty string")
        replacement = str(string(e.replacement))

        def filled(match):
            def captured(reference):
                n = int(reference.group(1))
                return match.group(n) or "" if n <= pattern.groups else ""

            return re.sub(r"\$([0-9])", captured, replacement)

        return like(pattern.sub(filled, str(text)), text)


@corrects("ENCODE_FOR_URI")
def slashes_are_encoded():
    @replaces(operators.Builtin_ENCODE_FOR_URI)
    def encode(e, ctx):
        return Literal(quote(string(e.arg).encode("utf-8"), safe=""))


@corrects("STRDT")
def strdt_takes_simple_literals():
    @replaces(operators.Builtin_STRDT)
    def strdt(e, ctx):
        if not is_string(e.arg1) or not isinstance(e.arg2, URIRef):
            raise SPARQLTypeError("STRDT of no simple literal")
        return Literal(str(e.arg1), datatype=e.arg2)


@corrects("STR")
def blank_nodes_have_no_string():
    @replaces(operators.Builtin_STR)
    def text(e, ctx):
        if isinstance(e.arg, BNode):
            raise SPARQLTypeError("STR of a blank node")
        return Literal(str(e.arg))


# --- dates ---


def moment(term):
    if not isinstance(term, Literal) or term.datatype != XSD.dateTime or not isinstance(term.value, datetime.datetime):
        raise SPARQLTypeError("no dateTime")
    return term.value


@corrects("SECONDS and TIMEZONE")
def parts_of_moments():
    @replaces(operators.Builtin_SECONDS)
    def seconds(e, ctx):
        at = moment(e.arg)
        return Literal(Decimal(at.second) + Decimal(at.microsecond) / 1000000, datatype=XSD.decimal)

    @replaces(operators.Builtin_TIMEZONE)
    def timezone(e, ctx):
        offset = moment(e.arg).utcoffset()
        if offset is None:
            raise SPARQLError("no zone")
        minutes = int(offset.total_seconds() // 60)
        sign, minutes = ("-", -minutes) if minutes < 0 else ("", minutes)
        text = ("%dH" % (minutes // 60) if minutes >= 60 else "") + ("%dM" % (minutes % 60) if minutes % 60 else "")
        return Literal(sign + "PT" + (text or "0S"), datatype=XSD.dayTimeDuration)

    @replaces(operators.Builtin_TZ)
    def tz(e, ctx):
        at = moment(e.arg)
        return Literal(re.search(r"(Z|[+-]\d\d:\d\d)?$", str(e.arg)).group())


# --- casts ---


def cast(to, x):
    if not isinstance(x, Literal):
        raise SPARQLTypeError("a cast of no literal")
    if to == XSD.boolean:
        if is_number(x):
            value = number(x)[1]
            return Literal(value == value and value != 0)
        if (is_string(x) or x.datatype == XSD.boolean) and x.strip(" \t\r\n") in ("true", "1", "false", "0"):
            return Literal(x.strip(" \t\r\n") in ("true", "1"))
    elif to in TYPES:
        rank = TYPES.index(to)
        if x.datatype == XSD.boolean and str(x) in ("true", "1", "false", "0"):
            return literal(rank, int(str(x) in ("true", "1")))
        if is_string(x) and LEXICAL[rank].fullmatch(x.strip(" \t\r\n")):
            return literal(rank, CONVERT[rank](x.strip(" \t\r\n")))
        if is_number(x):
            return literal(rank, number(x)[1])
    raise SPARQLTypeError("no such cast")


@corrects("casts")
def casts_by_the_table():
    original = operators.Function

    @replaces(operators.Function)
    def function(e, ctx):
        if e.iri == XSD.boolean or e.iri in TYPES:
            (x,) = e.expr
            return cast(e.iri, x)
        return original(e, ctx)


# --- patterns ---


def rebind(ctx, solution):
    return FrozenBindings(ctx, solution.items())


@corrects("bottom-up evaluation")
def bottom_up():
    def evaluate_part(ctx, part):
        if part.name == "Join":
            return list(_join(list(evalPart(ctx, part.p1)), list(evalPart(ctx, part.p2))))
        if part.name == "LeftJoin":
            out = []
            right = list(evalPart(ctx, part.p2))
            for a in evalPart(ctx, part.p1):
                both = [a.merge(b) for b in right if a.compatible(b)]
                out += [x for x in both if _ebv(part.expr, x)] or [a]
            return out
        if part.name == "Filter":
            return [x for x in evalPart(ctx, part.p) if _ebv(part.expr, x)]
        if part.name == "Extend":
            out = []
            for x in evalPart(ctx, part.p):
                try:
                    value = _eval(part.expr, x)
                    out.append(x if isinstance(value, SPARQLError) else x.merge({part.var: value}))
                except SPARQLError:
                    out.append(x)
            return out
        if part.name == "Graph":
            return graphs(ctx, part)
        raise NotImplementedError()

    def graphs(ctx, part):
        name = ctx[part.term]
        if name is not None:
            inner = ctx.pushGraph(ctx.dataset.get_context(name))
            return [rebind(ctx, x) for x in list(evalPart(inner, part.p))]
        out = []
        for graph in sorted(ctx.dataset.contexts(), key=lambda g: str(g.identifier)):
            if graph.identifier == ctx.dataset.default_context.identifier or len(graph) == 0:
                continue
            inner = ctx.pushGraph(graph).push()
            named = [FrozenBindings(ctx, {part.term: graph.identifier})]
            out += _join([rebind(ctx, x) for x in list(evalPart(inner, part.p))], named)
        return out

    CUSTOM_EVALS["bottom-up"] = evaluate_part
    algebra.reorderTriples = lambda triples: list(triples)


@corrects("multiplicity of paths")
def paths_without_duplicates():
    original = paths.MulPath.eval

    def once(self, graph, subj=None, obj=None, first=True):
        seen = set()
        for pair in original(self, graph, subj, obj, first):
            if pair not in seen:
                seen.add(pair)
                yield pair

    paths.MulPath.eval = once


REWRITTEN = []  # regular expressions over a query's text, and what they become


@corrects("inverse in a negated set")
def negated_inverse():
    iri = r"(<[^<>]*>)"
    REWRITTEN.append((re.compile(r"!\(\^" + iri + r"\|" + iri + r"\)"), r"(!\2|^(!\1))"))
    REWRITTEN.append((re.compile(r"!\^" + iri), r"^(!\1)"))


# --- aggregates ---


@corrects("groups")
def groups():
    def evaluate_part(ctx, part):
        if part.name != "AggregateJoin":
            raise NotImplementedError()
        keys = part.p.expr
        found = {} if keys is not None else {True: Aggregator(aggregations=part.A)}
        for row in list(evalPart(ctx, part.p)):
            key = True
            if keys is not None:
                values = [_eval(e, row, False) for e in keys]
                key = tuple(None if isinstance(v, SPARQLError) else v for v in values)
            if key not in found:
                found[key] = Aggregator(aggregations=part.A)
            found[key].update(row)
        return [FrozenBindings(ctx, group.get_bindings()) for group in found.values()]

    CUSTOM_EVALS["groups"] = evaluate_part
    aggregates.Sample.set_value = lambda self, bindings: None  # a key that is unbound stays so


def argument(expr, row):
    value = _eval(expr, row)
    if isinstance(value, SPARQLError):
        raise NotBoundError(str(value))
    return value


@corrects("errors in aggregates")
def aggregates_of_errors():
    aggregates._eval = argument

    def numbers(self, row, aggregator):
        try:
            value = argument(self.expr, row)
            if self.distinct:
                self.seen.add(value)
            number(value)
        except SPARQLError:
            self.failed = True
            return
        self.total = calculate("+", self.total, value)
        self.count += 1

    def started(original):
        def start(self, aggregation):
            original(self, aggregation)
            self.failed, self.total, self.count = False, Literal(0), 0

        return start

    def total(self, bindings):
        if not self.failed:
            bindings[self.var] = self.total

    def average(self, bindings):
        if not self.failed:
            bindings[self.var] = calculate("/", self.total, Literal(self.count)) if self.count else Literal(0)

    for kind, result in (aggregates.Sum, total), (aggregates.Average, average):
        kind.__init__ = started(kind.__init__)
        kind.update, kind.set_value = numbers, result

    def extremum(self, row, aggregator):
        try:
            value = argument(self.expr, row)
            self.value = value if self.value is None else self.compare(self.value, value)
        except SPARQLError:
            self.failed = True

    def found(self, bindings):
        if not self.failed and self.value is not None:
            bindings[self.var] = self.value

    start_extremum = aggregates.Extremum.__init__

    def start(self, aggregation):
        start_extremum(self, aggregation)
        self.failed = False

    kind = aggregates.Extremum
    kind.__init__, kind.update, kind.set_value = start, extremum, found

    def fresh(self, row):
        try:
            return argument(self.expr, row) not in self.seen
        except SPARQLError:
            return True

    start_any = aggregates.Accumulator.__init__

    def start_distinct(self, aggregation):
        start_any(self, aggregation)
        if aggregation.distinct and not (isinstance(self, aggregates.Counter) and self.expr == "*"):
            self.use_row = lambda row: fresh(self, row)

    aggregates.Accumulator.__init__ = start_distinct


    def concatenate(self, row, aggregator):
        try:
            value = argument(self.expr, row)
            if isinstance(value, BNode):
                raise SPARQLTypeError("a blank node has no string")
            self.value.append(value)
            if self.distinct:
                self.seen.add(value)
        except SPARQLError:
            self.failed = True

    def concatenated(self, bindings):
        if not self.failed:
            bindings[self.var] = self.get_value()

    concat = aggregates.GroupConcat
    concat.__init__ = started(concat.__init__)
    concat.update, concat.set_value = concatenate, concatenated


@corrects("empty separator")
def separator():
    original = aggregates.GroupConcat.__init__

    def start(self, aggregation):
        original(self, aggregation)
        if aggregation.separator is not None:
            self.separator = str(aggregation.separator)

    aggregates.GroupConcat.__init__ = start


# --- forms and updates ---


@corrects("dataset clauses")
def dataset_clauses():
    CLAUSES.append(True)


CLAUSES = []


def dataset_of(data, clauses):
    """What FROM and FROM NAMED make of the data."""
    if not clauses or not CLAUSES:
        return data
    if isinstance(clauses, parserutils.CompValue):
        clauses = [clauses]
    ds = Dataset()
    for clause in clauses:
        source = data.get_context(clause.default or clause.named)
        target = ds.default_context if clause.default else ds.get_context(clause.named)
        for triple in source:
            target.add(triple)
    return ds


@corrects("updates")
def deletes_before_inserts():
    def change(ctx, u, solutions):
        deletes, inserts = [], []
        for c in solutions:
            for part, out in (u.delete, deletes), (u.insert, inserts):
                if not part:
                    continue
                out += [(ctx.graph, t) for t in _fillTemplate(part.triples, c)]
                for g, quads in part.quads.items():
                    name = c.get(g)
                    if isinstance(name, URIRef):
                        out += [(ctx.dataset.get_context(name), t) for t in _fillTemplate(quads, c)]
        for graph, t in deletes:
            graph.remove(t)
        for graph, t in inserts:
            if isinstance(t[0], (URIRef, BNode)) and isinstance(t[1], URIRef):
                graph.add(t)

    def modify(ctx, u):
        inner = ctx.pushGraph(ctx.dataset.get_context(u.withClause)) if u.withClause else ctx
        where = inner
        if u.using:
            where = QueryContext(dataset_of(ctx.dataset, u.using), initBindings={})
            where.prologue = u.prologue
        change(inner, u, list(evalPart(where, u.where)))

    def delete_where(ctx, u):
        found = list(evaluate.evalBGP(ctx, u.triples))
        for g, quads in u.quads.items():
            name = ctx[g]
            names = [name] if name is not None else [c.identifier for c in ctx.dataset.contexts() if c.identifier != ctx.dataset.default_context.identifier]
            rows = []
            for name in names:
                graph = ctx.pushGraph(ctx.dataset.get_context(name))
                here = [] if ctx[g] is not None else [(g, name)]
                rows += [FrozenBindings(ctx, list(x.items()) + here) for x in list(evaluate.evalBGP(graph, quads)) if all(x.get(k, v) in (v, None) for k, v in here)]
            found = list(_join(found, rows))
        template = parserutils.CompValue("template", triples=u.triples, quads=u.quads)
        change(ctx, parserutils.CompValue("Modify", delete=template), found)

    update.evalModify, update.evalDeleteWhere = modify, delete_where

    def of_a_graph(original):
        def copy(ctx, u):
            source = u.graph[0]
            if source != "DEFAULT" and len(ctx.dataset.get_context(source)) == 0:
                raise SPARQLError("there is no graph %s" % source)
            original(ctx, u)

        return copy

    update.evalMove, update.evalCopy = of_a_graph(update.evalMove), of_a_graph(update.evalCopy)


# --- jobs ---

SECONDS = 5  # for a query


class TooLong(BaseException):
    pass


def alarm(number, frame):
    raise TooLong()


def decode(term):
    if term[0] == "i":
        return URIRef(term[1])
    if term[0] == "b":
        return BNode(term[1])
    plain = term[3] or term[2] == str(XSD.string)
    return Literal(term[1], lang=term[3] or None, datatype=None if plain else URIRef(term[2]))


def encode(term):
    if isinstance(term, URIRef):
        return ["i", str(term)]
    if isinstance(term, BNode):
        return ["b", str(term)]
    datatype = RDF.langString if term.language else term.datatype or XSD.string
    return ["l", str(term), str(datatype), term.language or ""]


def load(quads):
    ds = Dataset()
    for quad in quads:
        graph = ds.get_context(decode(quad[3])) if len(quad) > 3 else ds.default_context
        graph.add(tuple(decode(term) for term in quad[:3]))
    return ds


def dump(ds):
    out = []
    for graph in ds.contexts():
        name = [] if graph.identifier == ds.default_context.identifier else [encode(graph.identifier)]
        out += [[encode(term) for term in triple] + name for triple in graph]
    return out


def rewritten(text):
    for pattern, replacement in REWRITTEN:
        text = pattern.sub(replacement, text)
    return text


class Query:
    """A query, which is parsed once."""

    def __init__(self, text):
        self.prepared = prepareQuery(rewritten(text))
        self.clauses = self.prepared.algebra.datasetClause
        if CLAUSES:
            self.prepared.algebra["datasetClause"] = None

    def answer(self, ds):
        result = dataset_of(ds, self.clauses).query(self.prepared)
        if result.type == "ASK":
            return {"boolean": bool(result.askAnswer)}
        if result.type == "CONSTRUCT":
            legal = [t for t in result.graph if not isinstance(t[0], Literal) and isinstance(t[1], URIRef)]
            return {"graph": [[encode(term) for term in t] for t in legal]}
        rows = []
        for row in result.bindings:
            rows.append({str(name): encode(term) for name, term in row.items() if isinstance(name, Variable)})
        return {"rows": rows}


def guarded(function, *args):
    """The result of a call, or its error, which comes at last after SECONDS."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return function(*args)
    except (Exception, TooLong) as e:
        return {"error": repr(e)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def updated(ds, text):
    ds.update(rewritten(text))
    return {"graph": dump(ds)}


def run(job):
    datasets = [load(quads) for quads in job["data"]]
    if "update" in job:
        return [[guarded(updated, ds, job["update"])] for ds in datasets]
    queries = [guarded(Query, text) for text in job["queries"]]
    return [[q if isinstance(q, dict) else guarded(q.answer, ds) for q in queries] for ds in datasets]


def main():
    decimal.getcontext().prec = 40
    if "--plain" not in sys.argv:
        for install in CORRECTIONS.values():
            install()
    if "--corrections" in sys.argv:
        print(json.dumps(sorted(CORRECTIONS)))
        return
    signal.signal(signal.SIGALRM, alarm)
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps({"results": run(job)}), flush=True)


if __name__ == "__main__":
    main()
