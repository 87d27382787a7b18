# Serves a pyoxigraph store over HTTP: oxigraph.py DIR PORT, or loads a file: oxigraph.py DIR load FILE.
#
# It speaks HTTP over bare sockets with a thread for each connection, because Python's own servers
# add a millisecond to each answer. It knows only GET /?query=... with Content-Length answers.
import socket
import sys
import threading
import urllib.parse

import pyoxigraph as ox


def answer(store, query):
    """Returns the status line's end, the media type and the body for a query."""
    try:
        results = store.query(query)
        if isinstance(results, ox.QueryTriples):
            return "200 OK", "application/n-triples", results.serialize(format=ox.RdfFormat.N_TRIPLES)
        return "200 OK", "application/sparql-results+json", results.serialize(format=ox.QueryResultsFormat.JSON)
    except Exception as e:
        return "400 Bad Request", "text/plain", str(e).encode()


def serve(store, connection):
    """Answers the requests of one connection, one after the other."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return
            data += more
        head, data = data.split(b"\r\n\r\n", 1)
        target = head.split(b" ", 2)[1].decode()
        query = urllib.parse.parse_qs(target.partition("?")[2])["query"][0]
        status, media, body = answer(store, query)
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


if sys.argv[2] == "load":
    store = ox.Store(sys.argv[1])
    store.bulk_load(path=sys.argv[3], format=ox.RdfFormat.N_TRIPLES)
    store.optimize()
    store.flush()
else:
    store = ox.Store.read_only(sys.argv[1])
    listener = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=64)
    while True:
        accepted, _ = listener.accept()
        threading.Thread(target=serve, args=(store, accepted), daemon=True).start()
