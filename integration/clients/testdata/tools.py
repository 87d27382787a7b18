"""Runs jobs in stores and converters that are Python packages: a list in JSON on standard input, answers on standard output.

{"tool": T, "data": D, "update": U, "query": Q}   inserts D, runs U and Q: {"update": "ok" or "error", "result": JSON results}
{"tool": T, "turtle": TEXT, "to": SYNTAX}         reads and writes a document: {"text": TEXT}

What a tool raises is {"error": TYPE}, what is not installed {"absent": true}. An argument asks for versions instead.
"""

import importlib.metadata
import json
import logging
import os
import sys
import tempfile


def oxigraph(job):
    import pyoxigraph

    store = pyoxigraph.Store()
    if job["data"]:
        store.update(job["data"])
    out = {"update": attempt(lambda: store.update(job["update"])) if job["update"] else ""}
    if job["query"]:
        out["result"] = store.query(job["query"]).serialize(format=pyoxigraph.QueryResultsFormat.JSON).decode()
    return out


def rdflib(job):
    import rdflib

    if "turtle" in job:
        graph = rdflib.Graph().parse(data=job["turtle"], format="turtle")
        return {"text": graph.serialize(format=job["to"])}
    store = rdflib.Dataset() if job["dataset"] else rdflib.Graph()
    if job["data"]:
        store.update(job["data"])
    out = {"update": attempt(lambda: store.update(job["update"])) if job["update"] else ""}
    if job["query"]:
        out["result"] = store.query(job["query"]).serialize(format="json").decode()
    return out


def maplib(job):
    import maplib

    with tempfile.TemporaryDirectory() as folder:
        given, written = os.path.join(folder, "given.ttl"), os.path.join(folder, "written.nt")
        with open(given, "w") as f:
            f.write(job["turtle"])
        model = maplib.Model()
        model.read(given)
        model.write(written, format="ntriples")
        with open(written) as f:
            return {"text": f.read()}


def hdtkit(job):
    import hdtkit

    with tempfile.TemporaryDirectory() as folder:
        given, hdt, written = (os.path.join(folder, name) for name in ("given.ttl", "data.hdt", "written.ttl"))
        with open(given, "w") as f:
            f.write(job["turtle"])
        hdtkit.ttl2hdt(given, hdt)
        hdtkit.hdt2ttl(hdt, written)
        with open(written) as f:
            return {"text": f.read()}


def attempt(change):
    try:
        change()
        return "ok"
    except Exception:
        return "error"


TOOLS = {"oxigraph": oxigraph, "rdflib": rdflib, "maplib": maplib, "hdtkit": hdtkit}


def run(job):
    try:
        return TOOLS[job["tool"]](job)
    except ModuleNotFoundError:
        return {"absent": True}
    except Exception as e:
        return {"error": type(e).__name__}


def versions():
    found = {}
    for tool in TOOLS:
        try:
            found[tool] = importlib.metadata.version("pyoxigraph" if tool == "oxigraph" else tool)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


logging.disable()  # rdflib warns of each ill-typed literal
print(json.dumps(versions() if len(sys.argv) > 1 else [run(job) for job in json.load(sys.stdin)]))
