// Uploads: a file streams to the bulk loader of the node.

import { Failure, emit, failureOf, getToken, refuse, url } from "./api";

export const syntaxes: [string, string, RegExp][] = [
  ["Turtle", "text/turtle", /\.(ttl|turtle)$/], ["N-Triples", "application/n-triples", /\.(nt|ntriples)$/], ["TriG", "application/trig", /\.trig$/],
  ["N-Quads", "application/n-quads", /\.(nq|nquads)$/], ["RDF/XML", "application/rdf+xml", /\.(rdf|owl|xml)$/], ["JSON-LD", "application/ld+json", /\.(jsonld|json)$/],
];

// typeOf returns the media type for the name of a file, which may be compressed; undefined if it is not known.
export const typeOf = (name: string): string | undefined => {
  const plain = name.toLowerCase().replace(/\.(gz|bz2|zst|xz)$/, "");
  return syntaxes.find(([, , ending]) => ending.test(plain))?.[1];
};

export interface Reject { where: string; message: string; statement: string }
export interface Summary { read: number; new: number; duplicates: number; rejected: number; rejects?: Reject[] }

export interface Upload {
  file: File;
  state: "waits" | "sends" | "loads" | "done" | "failed";
  sent: number;
  summary?: Summary;
  error?: string;
}

// send loads a file. changed is called when the upload has changed. The signal stops it: nothing of it is kept then.
// It is an XMLHttpRequest because fetch does not report how much was sent.
export function send(u: Upload, type: string, options: { graph?: string; keepGoing: boolean }, signal: AbortSignal, changed: () => void): Promise<void> {
  return new Promise(resolve => {
    const r = new XMLHttpRequest(), token = getToken();
    const end = (error?: string) => {
      u.state = error === undefined ? "done" : "failed";
      u.error = error;
      changed();
      resolve();
    };
    r.open("POST", url("load", { graph: options.graph && `<${options.graph}>`, "keep-going": options.keepGoing || undefined }));
    r.setRequestHeader("Content-Type", type);
    if (token) r.setRequestHeader("Authorization", "Bearer " + token);
    r.upload.onprogress = e => { u.sent = e.loaded; changed(); };
    r.upload.onload = () => { u.state = "loads"; u.sent = u.file.size; changed(); };
    r.onerror = () => end("The node does not answer, or the connection broke. Nothing of this file was loaded.");
    r.onabort = () => end("Stopped. Nothing of this file was loaded.");
    r.onload = () => {
      if (r.status === 200) {
        u.summary = JSON.parse(r.responseText);
        emit("data");
        return end();
      }
      const failure = failureOf(r.status, r.responseText);
      if (r.status === 401) refuse(token, failure);
      end(placed(failure));
    };
    signal.addEventListener("abort", () => r.abort());
    u.state = "sends";
    changed();
    r.send(u.file);
  });
}

const placed = (f: Failure) => f.line ? `Line ${f.line}, column ${f.column}: ${f.message}` : f.message;
