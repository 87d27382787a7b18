// Requests to the node, and its errors.

// Failure is an error of the node, or of the way to it. line and column count from 1, if they are known.
export class Failure extends Error {
  constructor(message: string, readonly status = 0, readonly kind = "", readonly where = "",
    readonly line = 0, readonly column = 0) {
    super(message);
  }
}

// events reports "token" (a request was refused, detail is the text for the user), "signed-in",
// "data" (data was changed by this page) and "status" (detail is the node's latest status).
export const events = new EventTarget();
export const emit = (name: string, detail?: unknown) => events.dispatchEvent(new CustomEvent(name, { detail }));

const unreachable = "The node does not answer. It is not running, or the connection broke.";
const broken = "The answer broke off, so what is shown is not all of it. The node ended it, for example at its time limit, or the connection broke.";

// named gives a failure of the network, which is a TypeError, a text for the user.
const named = <T>(promise: Promise<T>, text: string): Promise<T> =>
  promise.catch(err => { throw err instanceof TypeError ? new Failure(text) : err; });

export const getToken = () => sessionStorage.getItem("token") || "";
export function setToken(token: string) {
  if (token) sessionStorage.setItem("token", token);
  else sessionStorage.removeItem("token");
  emit("signed-in");
}

export interface Ask {
  method?: string;
  form?: Record<string, string>; // the body of a POST
  body?: BodyInit;
  type?: string; // of the body
  accept?: string;
  quiet?: boolean; // do not ask the user for a token
  signal?: AbortSignal;
}

// url returns a path with parameters; those that are undefined are left out.
export function url(path: string, params: Record<string, string | number | boolean | undefined> = {}): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) all.set(name, String(value));
  return all.size ? `${path}?${all}` : path;
}

// ask sends a request. An answer that is no success is a Failure.
export async function ask(path: string, o: Ask = {}): Promise<Response> {
  const headers: Record<string, string> = {};
  if (o.accept) headers.Accept = o.accept;
  if (o.type) headers["Content-Type"] = o.type;
  const token = getToken();
  if (token) headers.Authorization = "Bearer " + token;
  const body = o.form ? new URLSearchParams(o.form) : o.body;
  const response = await named(fetch(path, { method: o.method ?? (body === undefined ? "GET" : "POST"), headers, body, signal: o.signal }), unreachable);
  if (response.ok) return response;
  const failure = failureOf(response.status, await response.text());
  if (response.status === 401 && !(o.quiet && token)) refuse(token, failure);
  throw failure;
}

// refuse asks the user for a token.
export function refuse(token: string, failure: Failure) {
  emit("token", token ? `The token is wrong for this request: ${failure.message}.` : "This node needs its token.");
}

// failureOf reads the body of an error.
export function failureOf(status: number, text: string): Failure {
  try {
    const { error } = JSON.parse(text);
    return new Failure(error.message, status, error.kind, error.where, error.line, error.column);
  } catch {
    return new Failure(text || `The node answered ${status}.`, status);
  }
}

export async function json<T>(path: string, o: Ask = {}): Promise<T> {
  return await named((await ask(path, { accept: "application/json", ...o })).json(), broken);
}

// lines yields the lines of a body while they arrive. received gets the count of characters.
export async function* lines(response: Response, received?: (n: number) => void): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await named(reader.read(), broken);
      if (done) break;
      received?.(value.length);
      const parts = (rest + value).split("\n");
      rest = parts.pop()!;
      yield* parts;
    }
    if (rest) yield rest;
  } finally {
    reader.cancel().catch(() => {});
  }
}

// The value of a triple term is its text in N-Triples. A language may have a direction: ar--rtl.
export interface Term {
  type: "uri" | "literal" | "bnode" | "triple";
  value: string;
  datatype?: string;
  "xml:lang"?: string;
}

// select runs a query for the page itself, for a short time only.
export async function select(query: string, signal?: AbortSignal): Promise<Record<string, Term>[]> {
  const result = await json<{ results: { bindings: Record<string, Term>[] } }>("sparql", {
    form: { query, timeout: "5s" }, accept: "application/sparql-results+json", signal,
  });
  return result.results.bindings;
}

// save offers a text or blob as a file.
export function save(content: Blob, name: string) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(content);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
}

export const aborted = (err: unknown) => err instanceof DOMException && err.name === "AbortError";
export const message = (err: unknown) => err instanceof Error ? err.message : String(err);
